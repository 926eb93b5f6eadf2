// Sheets of analyses, as they are printed elsewhere: the views that hold nothing else.

/** What a row is about: an evaluator is marked as everywhere. */
function RowName({ study, text }) {
  const evaluator = study.evaluators[study.byName.get(text)]
  return evaluator ? html`<${Evaluator} evaluator=${evaluator} />` : html`<${Words}>${text}</${Words}>`
}

/** Among more rows than these one can choose. */
const MANY_ROWS = 40
/** Of more rows than these the first are shown, until all are wanted. */
const FOLDED_ROWS = 50
/** So many rows of a table of more than twice as many are printed, unless all are wanted. */
const PRINTED_ROWS = 10

/** The columns of a long sheet whose values come again, as choices. */
function choicesOf({ columns, rows }) {
  if (rows.length <= MANY_ROWS) return []
  const found = columns.map(({ title, form }, c) => ({ c, title, form, values: [...new Set(rows.map((row) => row[c]))] }))
  return found.filter(({ form, values: { length } }) => form === 'text' && length > 1 && 2 * length <= rows.length)
}

/** How wide a column of words must be: short ones stay in one line, sentences get room. */
function roomOf(rows, c) {
  const longest = Math.max(0, ...rows.map((row) => row[c].length))
  return longest > 48 ? 'snippet' : longest <= 20 ? 'nowrap' : ''
}

/** The sentence that says what a table shows, or else what it is, and those that say more. */
function leadOf({ finding, notes }) {
  if (finding) return { lead: finding, rest: notes }
  const [first = '', ...others] = notes
  const [lead, ...more] = first.split(/(?<=[.?!])\s+(?=\p{Lu})/u)
  return { lead, rest: [more.join(' '), ...others] }
}

/** The places of columns as they stand; on a phone a row's name comes first, then the verdict and the first number. */
function orderOf(columns, named) {
  const places = columns.map((_, c) => c)
  if (!matchMedia('(max-width: 48rem)').matches || !columns.some(({ keep }) => keep)) return places
  const number = columns.findIndex(({ form }) => form !== 'text' && form !== 'count')
  const rank = (c) => [c === named, columns[c].keep, c === number, true].indexOf(true)
  return places.sort((a, b) => rank(a) - rank(b))
}

function SheetTable({ study, sheet }) {
  const { columns, rows, title } = sheet
  const [chosen, setChosen] = useState({})
  const [whole, setWhole] = useState(false)
  const choices = useMemo(() => choicesOf(sheet), [sheet])
  const named = Math.max(0, columns.findIndex((_, c) => rows.some((row) => study.byName.has(row[c]))))
  const shown = rows.filter((row) => choices.every(({ c }) => !chosen[c] || row[c] === chosen[c]))
  const long = shown.length > FOLDED_ROWS
  const cut = !whole && shown.length > 2 * PRINTED_ROWS
  const kept = (r) => (!long || whole || r < MANY_ROWS ? (cut && r >= PRINTED_ROWS ? 'beyond' : '') : 'more')
  const sides = useMemo(() => columns.map(({ form }, c) => (form === 'text' ? `text ${c === named ? '' : roomOf(rows, c)}` : '')), [sheet])
  const order = orderOf(columns, named)
  const { lead, rest } = useMemo(() => leadOf(sheet), [sheet])
  /** A sentence that the row above has, too, is not said again. */
  const told = (text, c, above) => (text.length > 48 && above?.[c] === text ? 'as above' : text)
  const cell = (text, c) =>
    c === named
      ? html`<th scope="row" key=${c} class=${sides[c]}><${RowName} study=${study} text=${text} /></th>`
      : html`<td key=${c} class=${sides[c]}>${
          study.byName.has(text) ? html`<${RowName} study=${study} text=${text} />` : columns[c].form === 'text' ? text : text.replace(', ', ',\u00a0')
        }</td>`
  return html`<section class="sheet" id=${`sheet-${sheet.name}`}>
    ${
      choices.length > 0 &&
      html`<div class="controls" role="group" aria-label=${`Rows of: ${title}`}>
      ${choices.map(({ c, title, values }) => html`<${Select} key=${c} label=${title} value=${chosen[c] ?? ''}
        options=${[['', 'all'], ...values.map((value) => [value, value])]}
        onChange=${(value) => setChosen({ ...chosen, [c]: value })} />`)}</div>`
    }
    <${Wide} label=${title}><table>
      <caption><span>${title} <${Simulated} loud=${sheet.simulated} />${lead && html`<small class="lead"><${Coded} text=${lead} /></small>`}</span></caption>
      <thead><tr>${order.map((c) => html`<th scope="col" key=${c}
        class=${sides[c]}>${columns[c].title.replaceAll('-', '\u2011')}</th>`)}</tr></thead>
      <tbody>${shown.map(
        (row, r) => html`<tr key=${r} class=${kept(r)}>${order.map((c) => cell(told(row[c], c, shown[r - 1]), c))}</tr>`,
      )}${!shown.length && html`<tr><td colspan=${columns.length}>Nothing is left: change a choice.</td></tr>`}</tbody>
    </table></${Wide}>
    ${cut && html`<p class="printed">The first ${PRINTED_ROWS} of ${count(shown.length)} rows are printed; the page has all.</p>`}
    <p class="rows">${
      long &&
      html`<button type="button" class="unfold" aria-expanded=${whole} onClick=${() => setWhole(!whole)}>
        ${whole ? 'Show fewer' : `Show all ${count(shown.length)} rows`}<span class="hidden"> of ${title}</span></button>`
    }<${Download} name=${title} table=${() => [columns.map((column) => column.title), ...shown]} /></p>
    <${Notes} notes=${rest} />
  </section>`
}

/** Made once for each name, so that a view which is shown stays the same component. */
const sheetView = once((name) => {
  const command = { calibration: 'calibrate', trust: 'audit' }[name] ?? name
  const title = capital(name)
  const sheetsOf = ({ sheets }) => sheets.filter(({ view }) => view === name)
  const view = ({ study, params }) => {
    const sheets = useMemo(() => sheetsOf(study), [study])
    const leads = Object.values(study.answer.judges).filter(({ found }) => found?.[command])
    const parts = sheets.map((sheet) => ({
      id: `sheet-${sheet.name}`,
      href: hrefOf(name, { sheet: sheet.name }),
      title: sheet.title,
    }))
    return html`<section>
      <h2 tabindex="-1">${title}</h2>
      ${leads.map(({ label, found }) => html`<p class="answer" key=${label}><${Words}>${label}: ${typeset(found[command])}.</${Words}></p>`)}
      <${Contents} label="Tables" parts=${parts} first=${params.sheet && `sheet-${params.sheet}`} />
      ${sheets.map((sheet) => html`<${SheetTable} key=${sheet.name} study=${study} sheet=${sheet} />`)}
      <${Glossary} study=${study} view=${sheets} />
    </section>`
  }
  return { title: () => title, view, there: (study) => sheetsOf(study).length > 0 }
})
