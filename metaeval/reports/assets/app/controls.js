// Small parts of forms: a select, a search box, a pager, a long text.

let fields = 0

/** A label and what it is of, by an id of their own. */
function Field({ label, control, className = '' }) {
  const id = useMemo(() => `field-${++fields}`, [])
  return html`<div class=${`field ${className}`}><label for=${id}>${label}</label>${control(id)}</div>`
}

function Select({ label, value, options, onChange }) {
  return html`<${Field} label=${label} control=${(id) => html`
    <select id=${id} value=${value} onChange=${(event) => onChange(event.currentTarget.value)}>
      ${options.map(([key, title]) => html`<option key=${key}
        value=${key} selected=${key === value}>${title}</option>`)}
    </select>`} />`
}

/** Choose one of names that are their own titles. */
const Choice = ({ all, ...props }) =>
  html`<${Select} ...${props} options=${all.map((name) => [name, name])} />`

function Search({ label, value, onInput }) {
  return html`<${Field} label=${label} className="search" control=${(id) => html`
    <input id=${id} type="search" value=${value ?? ''} dir="auto" autocomplete="off" spellcheck=${false}
      onInput=${(event) => onInput(event.currentTarget.value)} />`} />`
}

function Pager({ page, pages, onPage, label }) {
  if (pages < 2) return null
  const button = (
    to,
    title,
    sign,
  ) => html`<button type="button" disabled=${to < 1 || to > pages || to === page}
    onClick=${() => onPage(to)} aria-label=${title}>${sign}</button>`
  return html`<nav class="pager" aria-label=${`Pages of ${label}`}>
    ${button(1, 'First page', '«')} ${button(page - 1, 'Previous page', '‹')}
    <span>page ${count(page)} of ${count(pages)}</span>
    ${button(page + 1, 'Next page', '›')} ${button(pages, 'Last page', '»')}
  </nav>`
}

const LONG_TEXT = 1500

/** A text from the data, whole; a long one is folded until the reader (or a printer) wants it. */
function LongText({ text, what }) {
  const [open, setOpen] = useState(false)
  const long = text.length > LONG_TEXT
  return html`<div class="text">
    <div class=${`words prose ${long && !open ? 'folded' : ''}`} dir="auto">${text}</div>
    ${
      long &&
      html`<button type="button" class="unfold" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      ${open ? 'Show less' : `Show all ${count(text.length)} characters`}<span
        class="hidden"> of ${what}</span>
    </button>`
    }
  </div>`
}

/** What scrolls sideways where the window is too narrow for it, by keyboard too; it says so. */
function Wide({ label, children }) {
  const box = useRef(null)
  const [cut, setCut] = useState(false)
  useEffect(() => {
    const wide = box.current
    const observer = new ResizeObserver(() => setCut(wide.scrollWidth > wide.clientWidth + 1))
    for (const part of [wide, ...wide.children]) observer.observe(part)
    return () => observer.disconnect()
  }, [])
  return html`${cut && html`<p class="rows cut">There is more to the right: scroll sideways ⇢</p>`}
    <div class="wide" ref=${box} tabindex=${cut ? 0 : undefined} role=${cut ? 'region' : undefined}
      aria-label=${cut ? label : undefined}>${children}</div>`
}

/** What marks an evaluator (or a table, by its loud words) that is no model of anything. */
const Simulated = ({ loud }) =>
  loud && html`<span class="badge">${loud.toLowerCase().replace('.', '')}</span>`

/** What is to be known of an evaluator before its numbers are read. */
const Marks = ({ evaluator: { simulated, inTruth } }) =>
  html`${simulated && html` <${Simulated} loud="simulated" />`}${inTruth && html` <span class="badge">part of the truth</span>`}`

/** An evaluator's name, which breaks at its signs; its spec, when pointed at. In a table a very long one is cut. */
function Name({ evaluator: { label, spec } }) {
  const long = label.length > 80
  const parts = label.split(/(?<=[_/,])|(?=\()/)
  return html`<bdi class=${`words ${long ? 'long' : ''}`} dir="auto"
    title=${long || spec !== label ? spec : undefined}>${parts.map((part, i) => [i > 0 && html`<wbr />`, part])}</bdi>`
}

/** An evaluator as rows name it. */
const Evaluator = ({ evaluator }) =>
  html`<${Name} evaluator=${evaluator} /><${Marks} evaluator=${evaluator} />`

/** Why there is no score; nothing to notice where there is one. */
const Status = ({ children }) =>
  html`<span class=${children === 'ok' || children === NOTHING ? 'ok' : 'status'}>${children}</span>`

/** Text in which a command stands between grave accents. */
const Coded = ({ text }) => text.split('`').map((part, i) => (i % 2 ? html`<code>${part}</code>` : part))

/** Sentences below a table or a figure that are shown at once. */
const SENTENCES = 3

/** The others are folded, one in a line. */
function Notes({ notes }) {
  const sentences = notes.filter(Boolean).flatMap((note) => note.split(/(?<=[.?!])\s+/))
  const line = (text) => html`<p class="note"><${Coded} text=${text} /></p>`
  const folded = sentences.splice(SENTENCES)
  return html`${sentences.length > 0 && line(sentences.join(' '))}${
    folded.length > 0 &&
    html`<details class="folded-notes"><summary>More about these numbers</summary>${folded.map(line)}</details>`
  }`
}

/** What a long view holds: links to its parts; `first` is the one that the address names. */
function Contents({ label, parts, first }) {
  const show = (id) => document.getElementById(id)?.scrollIntoView()
  useEffect(() => show(first), [])
  return html`<nav class="contents" aria-label=${label}><ul>
    ${parts.map(({ id, href, title }) => html`<li key=${id}><a href=${href} onClick=${() => show(id)}>${title}</a></li>`)}
  </ul></nav>`
}
