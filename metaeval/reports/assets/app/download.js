// Tables as CSV files, made in the page: it asks nobody for anything.

/** What a spreadsheet program might run as a formula gets a quote before it, as in the files of a run. */
const FORMULA = /^'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/
const NUMBER = /^[+-]?(\d+(,\d{3})*(\.\d*)?|\.\d+)([eE][+-]?\d+)?( ?%)?$/

function csvCell(value) {
  if (value == null || value === NOTHING) return ''
  const text = String(value)
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Save a file that the page made; its name says if anything on the page is simulated. */
function save(blob, name, suffix) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  const simulated = document.querySelector('header .simulated') ? 'SIMULATED ' : ''
  link.download = `${`${simulated}${name}`.replace(/[^\p{L}\p{N}]+/gu, '-')}.${suffix}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/** `table()` returns the header and the rows of the file. */
function Download({ name, table }) {
  const saved = () => {
    const text = table().map((row) => `${row.map(csvCell).join(',')}\n`).join('')
    save(new Blob(['\ufeff', text], { type: 'text/csv' }), name, 'csv')
  }
  return html`<button type="button" class="download" onClick=${saved}
    title="What the table shows, all pages, with every digit that this page has">CSV<span
    class="hidden"> of ${name}</span></button>`
}

/** The values of a column in a file: `csv` says them if they are not those that it sorts by. */
const exportOf = ({ title, group, value, csv }) => csv ?? { [group ? `${group} ${title}` : title]: value }

/** The table of a file: what useTable found, in its order. */
function exported({ columns, ordered }) {
  const parts = columns.filter((c) => !c.unsortable).flatMap((c) => Object.entries(exportOf(c)))
  return [parts.map(([title]) => title), ...ordered.map((row) => parts.map(([, value]) => value(row)))]
}
