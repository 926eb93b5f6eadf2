// A real <table> of what useTable found: header cells that sort, the number of rows said aloud, pages.

function HeaderCell({ column, sort, onSort, rowSpan }) {
  const sorted = sort.replace(/^-/, '') === column.id
  const descending = sort.startsWith('-')
  const classes = `${column.text ? 'text' : ''} ${column.className ?? ''}`
  if (column.unsortable)
    return html`<th scope="col" rowspan=${rowSpan} class=${classes}>${column.header ?? column.title}</th>`
  const first = column.text || column.ascending ? column.id : `-${column.id}`
  const next = !sorted ? first : descending ? column.id : `-${column.id}`
  return html`<th scope="col" rowspan=${rowSpan} class=${classes}
      aria-sort=${sorted ? (descending ? 'descending' : 'ascending') : undefined}>
    <button type="button" onClick=${() => onSort(next)} title=${column.hint}>
      ${column.title}\u2060<span class="arrow"
        aria-hidden="true">${sorted ? (descending ? '▼' : '▲') : '↕'}</span>
    </button>
  </th>`
}

/** Columns that share a `group` stand under one heading. */
function TableHead({ columns, ...sorting }) {
  const grouped = columns.some((c) => c.group)
  const groups = columns.map((c) => c.group).filter((g, i, all) => g && all.indexOf(g) === i)
  const cells = (some, rowSpan) =>
    some.map(
      (column) => html`<${HeaderCell} key=${column.id} column=${column} rowSpan=${rowSpan} ...${sorting} />`,
    )
  if (!grouped) return html`<thead><tr>${cells(columns)}</tr></thead>`
  const top = columns.filter((c, i) => !c.group || columns.findIndex((o) => o.group === c.group) === i)
  return html`<thead>
    <tr>
      ${top.map((column) =>
        column.group
          ? html`<th scope="colgroup" class="group" key=${column.group}
              colspan=${columns.filter((c) => c.group === column.group).length}>${column.group}</th>`
          : cells([column], 2),
      )}
    </tr>
    <tr>${groups.flatMap((group) => cells(columns.filter((c) => c.group === group)))}</tr>
  </thead>`
}

function Row({ row, columns, rowHeader }) {
  return html`<tr>
    ${columns.map((column) => {
      const content = column.cell ? column.cell(row) : column.value(row)
      const classes = `${column.text ? 'text' : ''} ${column.className ?? ''}`
      return column.id === rowHeader
        ? html`<th scope="row" key=${column.id} class=${classes}>${content}</th>`
        : html`<td key=${column.id} class=${classes}>${content}</td>`
    })}
  </tr>`
}

/**
 * `found` is what useTable returned; `caption` and `label` say what the table is, the one with marks and the
 * other without; `noun` what a row is; `blocks(row)` the heading above rows that share it, if not sorted.
 */
function DataTable({ found, caption, label, noun, rowHeader, onSort, onPage, rowKey, blocks }) {
  const { columns, ordered, shown, total, page, pages, sort } = found
  const rows = []
  let block
  for (const row of shown) {
    if (blocks && !sort && blocks(row) !== block) {
      block = blocks(row)
      rows.push(html`<tr class="block" key=${`block ${block}`}>
        <th scope="colgroup" colspan=${columns.length}>${block}</th>
      </tr>`)
    }
    rows.push(html`<${Row} key=${rowKey(row)} row=${row} columns=${columns} rowHeader=${rowHeader} />`)
  }
  return html`<div class="table">
    <div class="above">
      <p class="rows"><span role="status">${count(ordered.length)} of ${plural(total, noun)}</span>
        ${' '}<${Download} name=${label.replace(/^the /, '')} table=${() => exported(found)} /></p>
      <${Pager} page=${page} pages=${pages} onPage=${onPage} label=${label} />
    </div>
    <${Wide} label=${label}>
      <table>
        <caption><span>${caption}</span></caption>
        <${TableHead} columns=${columns} sort=${sort} onSort=${onSort} />
        <tbody>
          ${rows}
          ${!shown.length &&
          html`<tr><td class="text" colspan=${columns.length}>
            Nothing is left: change the search or the filters.</td></tr>`}
        </tbody>
      </table>
    </${Wide}>
    ${pages > 1 && html`<div class="below"><${Pager} page=${page} pages=${pages} onPage=${onPage}
      label=${`${label}, below`} /></div>`}
  </div>`
}
