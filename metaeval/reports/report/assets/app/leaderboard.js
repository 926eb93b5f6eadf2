// The leaderboard: one column with intervals and tests, or all aspects as in a paper's table.

const COEFFICIENTS = { pearson: 'Pearson’s r', spearman: 'Spearman’s ρ', kendall: 'Kendall’s τ-b' }
const coefficientName = (name) => COEFFICIENTS[name] ?? name

const aspectName = (study, aspect) =>
  aspect === 'average' && study.hasAverage ? 'average over aspects' : aspect

const MODES = [
  ['column', 'one column'],
  ['aspects', 'all aspects'],
]

function Leaderboard({ study, params }) {
  const mode = oneOf(params.mode, ['column', 'aspects'], 'column')
  const view = viewOf(study, params)
  const set = (changes, options) => go('leaderboard', { ...params, ...changes }, options)
  const rows = useMemo(() => study.evaluators.map((evaluator, e) => ({ e, evaluator })), [study])
  const type = (q) => set({ q }, { replace: true })
  const { aspects, levels, coefficients } = study.views
  const shared = { study, rows, params, view, set }
  return html`<section class="leaderboard">
    <h2 tabindex="-1">Leaderboard</h2>
    <div class="controls" role="group" aria-label="What is shown">
      <${Select} label="Show" value=${mode} options=${MODES}
        onChange=${(m) => set({ mode: m === 'column' ? '' : m, sort: '' })} />
      ${mode === 'column' && html`<${Choice} label="Aspect" all=${aspects} value=${view.aspect}
        onChange=${(aspect) => set({ aspect })} />`}
      ${mode === 'column' && html`<${Choice} label="Level" all=${levels} value=${view.level}
        onChange=${(level) => set({ level })} />`}
      <${Choice} label="Coefficient" all=${coefficients} value=${view.coefficient}
        onChange=${(coefficient) => set({ coefficient })} />
      <${Select} label="Kind" value=${params.kind ?? ''} options=${[['', 'all'], ...study.kinds]}
        onChange=${(kind) => set({ kind })} />
      <${Search} label="Search evaluators" value=${params.q} onInput=${type} />
    </div>
    ${mode === 'column' ? html`<${OneColumn} ...${shared} />` : html`<${AllAspects} ...${shared} />`}
    <${Notes} notes=${[study.policy.join(' ')]} />
    <${Glossary} study=${study} />
  </section>`
}

/** Columns that filter but are not shown. */
const FILTERS = [
  { id: 'kind', value: ({ evaluator }) => evaluator.kind, hidden: true },
  {
    id: 'words',
    value: ({ evaluator }) => `${evaluator.name}\n${evaluator.spec}\n${evaluator.kindTitle}`.toLowerCase(),
    hidden: true,
    search: true,
  },
]

const nameColumn = {
  id: 'evaluator',
  title: 'evaluator',
  text: true,
  className: 'evaluator',
  value: ({ evaluator }) => evaluator.name,
  cell: ({ evaluator }) =>
    html`<${Name} evaluator=${evaluator} /> <small class="kind">${evaluator.kindTitle}
      ${evaluator.simulated && html` <${Simulated} />`}</small>`,
}

/** From an estimate down to the groups it is made of; without groups, to the units. */
function DownLink({ study, e, view, what, children }) {
  const to = Object.keys(study.groups).length ? 'groups' : 'units'
  const evaluator = study.evaluators[e].name
  return html`<a class="down" href=${hrefOf(to, { evaluator, ...view })}>${children}<span class="hidden">
    : ${what ?? evaluator} in detail</span></a>`
}

/** Why scores are missing, most frequent first. */
function failuresOf({ statuses }) {
  const some = Object.entries(statuses).filter(([status, n]) => status !== 'ok' && n > 0)
  return some.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}

const failuresText = (evaluator) =>
  failuresOf(evaluator)
    .map(([status, n]) => `${status} ${count(n)}`)
    .join(' · ') || NOTHING

function costColumns(study) {
  const costs = [
    ['usd', 'USD /\u00a0text', 'usd'],
    ['tokens', 'tokens /\u00a0text', 'number'],
    ['seconds', 'seconds /\u00a0text', 'number'],
  ]
  return costs
    .filter(([id]) => study.evaluators.some((evaluator) => evaluator[id] != null))
    .map(([id, title, form]) => ({
      id,
      title,
      ascending: true,
      value: ({ evaluator }) => evaluator[id],
      cell: ({ evaluator }) => printed(evaluator[id], form),
    }))
}
