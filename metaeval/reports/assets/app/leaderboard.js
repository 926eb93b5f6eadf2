// The leaderboard: one column with intervals and tests, or all cells as in a paper's table.

function Leaderboard({ study, params }) {
  const { board } = study
  const modes = [['column', 'one column'], ...board.columns.slice(0, 1).map((d) => ['all', `all ${d.plural}`])]
  const mode = oneOf(
    params.mode,
    modes.map(([name]) => name),
    'column',
  )
  const view = viewOf(study, params)
  const set = (changes, options) => go('leaderboard', { ...params, ...changes }, options)
  const rows = useMemo(() => study.evaluators.map((evaluator, e) => ({ e, evaluator })), [study])
  const type = (q) => set({ q }, { replace: true })
  const offered = board.dimensions.filter((d) => mode === 'column' || !board.columns.includes(d))
  const shared = { study, rows, params, view, set }
  const narrow = useMatch('(max-width: 48rem)')
  const lines = study.answer.lines.slice(1)
  const judged = lines.map((line) => html`<${JudgeLine} key=${line} line=${line} />`)
  const few = judged.length > 0 && judged.length <= 3
  const choices = html`<div class="controls" role="group" aria-label="What is shown">
    ${
      modes.length > 1 &&
      html`<${Select} label="Show" value=${mode} options=${modes}
      onChange=${(m) => set({ mode: m === 'column' ? '' : m, sort: '' })} />`
    }
    <${DimensionChoices} dimensions=${offered} view=${view} set=${set} />
    <${Select} label="Kind" value=${params.kind ?? ''} options=${[['', 'all'], ...study.kinds]}
      onChange=${(kind) => set({ kind })} />
    <${Search} label="Search evaluators" value=${params.q} onInput=${type} />
  </div>`
  return html`<section class="leaderboard">
    <h2 tabindex="-1">Leaderboard</h2>
    <p class="answer"><${Words}>${typeset(study.answer.sentences.join(' '))}</${Words}></p>
    ${few && html`<ul class="judged">${narrow ? lines.map((line) => html`<${JudgeLine} key=${line} line=${line} brief />`) : judged}</ul>`}
    ${narrow ? html`<details class="choices"><summary>Choose what is shown</summary>${choices}</details>` : choices}
    ${mode === 'column' ? html`<${OneColumn} ...${shared} />` : html`<${AllCells} ...${shared} />`}
    ${
      judged.length > 0 &&
      (narrow || !few) &&
      html`<details class="call"><summary>What is known of the judges</summary><ul>${judged}</ul></details>`
    }
    <${Glossary} study=${study} />
  </section>`
}

/** What is known of judges: first whether they may replace a person, once that was asked. */
function JudgeLine({ line, brief }) {
  const [first, ...others] = line.split('; ')
  // The reasons of a brief one stand in the long one.
  const said = brief ? first.replace(/( \([^()]*\))?\.?$/, '.') : first
  const rest = brief ? '' : others.map((clause) => `; ${clause}`).join('')
  const answered = first.includes('replace a person')
  return html`<li><${Words}>${h(answered ? 'b' : Fragment, null, html`<${Coded} text=${said} />`)}<${Coded} text=${rest} /></${Words}></li>`
}

/** Columns that filter but are not shown. */
const FILTERS = [
  { id: 'kind', value: ({ evaluator }) => evaluator.kind, hidden: true },
  {
    id: 'words',
    value: ({ evaluator }) => `${evaluator.name}\n${evaluator.label}\n${evaluator.spec}\n${evaluator.kindTitle}`.toLowerCase(),
    hidden: true,
    search: true,
  },
]

const nameColumn = {
  id: 'evaluator',
  title: 'evaluator',
  text: true,
  csv: {
    evaluator: ({ evaluator }) => evaluator.name,
    name: ({ evaluator }) => evaluator.label,
    simulated: ({ evaluator }) => (evaluator.simulated ? 'yes' : ''),
    'part of the truth': ({ evaluator }) => (evaluator.inTruth ? 'yes' : ''),
  },
  className: 'evaluator',
  value: ({ evaluator }) => evaluator.label,
  cell: ({ evaluator }) =>
    html`<${Name} evaluator=${evaluator} /> <small class="kind">${evaluator.kindTitle}
      <${Marks} evaluator=${evaluator} /></small>
      ${
        evaluator.trust &&
        html`<small class="trust" title=${evaluator.trust}><${Coded} text=${capital(evaluator.trust.split('; ')[0])} />.</small>`
      }`,
}

/** From an estimate down to the groups it is made of; without groups, to the units. */
function DownLink({ study, e, view, what, children }) {
  const to = study.groups.length ? 'groups' : 'units'
  const { name: evaluator, label } = study.evaluators[e]
  return html`<a class="down" href=${hrefOf(to, { evaluator, ...view })}>${children}<span class="hidden">
    : ${what ?? label} in detail</span></a>`
}

/** Why scores are missing, most frequent first. */
function failuresOf({ statuses }) {
  const some = Object.entries(statuses).filter(([status, n]) => !['ok', 'example'].includes(status) && n > 0)
  return some.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}

const costColumns = ({ costs }) =>
  costs.map(({ name, title, form, values }) => ({
    id: name,
    title,
    ascending: true,
    value: ({ e }) => values[e],
    cell: ({ e }) => printed(values[e], form),
  }))
