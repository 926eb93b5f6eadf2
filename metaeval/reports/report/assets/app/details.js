// Sheets of analyses, as they are printed elsewhere: the views that hold nothing else.

/** What a row is about: an evaluator is marked as everywhere. */
function RowName({ study, text }) {
  const evaluator = study.evaluators[study.byName.get(text)]
  return evaluator ? html`<${Evaluator} evaluator=${evaluator} />` : html`<${Words}>${text}</${Words}>`
}

function SheetTable({ study, sheet }) {
  const side = ({ form }) => (form === 'text' ? 'text' : '')
  return html`<section class="sheet" id=${`sheet-${sheet.name}`}>
    <${Wide} label=${sheet.title}><table>
      <caption><span>${sheet.title}</span></caption>
      <thead><tr>${sheet.columns.map((column, c) => html`<th scope="col" key=${c}
        class=${side(column)}>${column.title}</th>`)}</tr></thead>
      <tbody>${sheet.rows.map(
        (row, r) =>
          html`<tr key=${r}>${row.map((text, c) =>
            c === 0
              ? html`<th scope="row" key=${c}
                class=${side(sheet.columns[c])}><${RowName} study=${study} text=${text} /></th>`
              : html`<td key=${c} class=${side(sheet.columns[c])}>${
                  study.byName.has(text) ? html`<${RowName} study=${study} text=${text} />` : text
                }</td>`,
          )}</tr>`,
      )}</tbody>
    </table></${Wide}>
    <p class="rows"><${Download} name=${sheet.title}
      table=${() => [sheet.columns.map((column) => column.title), ...sheet.rows]} /></p>
    <${Notes} notes=${sheet.notes} />
  </section>`
}

/** Made once for each name, so that a view which is shown stays the same component. */
const sheetView = once((name) => {
  const title = capital(name)
  const sheetsOf = ({ sheets }) => sheets.filter(({ view }) => view === name)
  const view = ({ study, params }) => {
    const sheets = sheetsOf(study)
    const parts = sheets.map((sheet) => ({
      id: `sheet-${sheet.name}`,
      href: hrefOf(name, { sheet: sheet.name }),
      title: sheet.title,
    }))
    return html`<section>
      <h2 tabindex="-1">${title}</h2>
      <${Contents} label="Tables" parts=${parts} first=${params.sheet && `sheet-${params.sheet}`} />
      ${sheets.map((sheet) => html`<${SheetTable} key=${sheet.name} study=${study} sheet=${sheet} />`)}
    </section>`
  }
  return { title: () => title, view, there: (study) => sheetsOf(study).length > 0 }
})
