// Units: searched, filtered, sorted; the list and the pages of single units share the order.

const PAGE = 50

/** What the scores of an address are of; units are rated one by one, never for what sums them up. */
const ratedParam = ({ dimension }) => dimension?.param ?? 'rated'

function ratedOf({ units }, params) {
  return Math.max(
    0,
    units.rated.findIndex(({ name }) => name === params[ratedParam(units)]),
  )
}

/** Of each unit how many percent of the others are below it; equals share the middle of their places. Values rise. */
function placesOf({ values, codes }) {
  const sizes = values.map(() => 0)
  for (const code of codes) if (code >= 0) sizes[code]++
  let known = 0
  const middles = sizes.map((n) => (known += n) - (n + 1) / 2)
  return codes.map((code) => (code < 0 ? null : (100 * middles[code]) / Math.max(1, known - 1)))
}

/** What units are sorted by at first, and how it is said. */
const DISAGREEMENT = 'disagreement'
const disagreementNote = ({ onScale }) =>
  onScale
    ? 'Disagreement is the distance of score and truth, in points of their scale.'
    : 'These scores are not on the scale of the truth: disagreement is the distance of their ranks among the units of this page, in % of the units.'

function unitColumns({ units, evaluators }, e, a) {
  // The other item of a pair is in the list, too.
  const [first, ...beside] = units.parts.filter((part, i) => i === 0 || part.beside)
  const { onScale } = evaluators[e]
  const [places, truths] = onScale ? [] : [units.scores[e][a], units.truth[a]].map(placesOf)
  const difference = ({ u }) => {
    const given = onScale ? units.scoreOf(e, a, u) : places[u]
    const truth = onScale ? units.truthOf(a, u) : truths[u]
    return given == null || truth == null ? null : Math.abs(given - truth)
  }
  const words = ({ u }) =>
    [...[first, ...beside].map((part) => units.text(part, u)), ...units.columns.map((c) => units.value(c, u) ?? '')].join('\n').toLowerCase()
  return [
    {
      id: 'text',
      title: first?.title ?? 'unit',
      text: true,
      className: 'snippet',
      value: ({ u }) => units.text(first, u),
    },
    ...beside.map((part, i) => ({
      id: `beside${i}`,
      title: part.title,
      text: true,
      className: 'snippet',
      value: ({ u }) => units.text(part, u),
      cell: ({ u }) => html`<${Words}>${beginning(units.text(part, u))}</${Words}>`,
    })),
    {
      id: 'truth',
      title: 'truth',
      value: ({ u }) => units.truthOf(a, u),
      cell: ({ u }) => score(units.truthOf(a, u)),
    },
    {
      id: 'score',
      title: 'score',
      value: ({ u }) => units.scoreOf(e, a, u),
      csv: { score: ({ u }) => units.scoreOf(e, a, u), status: ({ u }) => units.statusOf(e, a, u) },
      cell: ({ u }) =>
        units.scoreOf(e, a, u) === null
          ? html`<${Status}>${units.statusOf(e, a, u)}</${Status}>`
          : score(units.scoreOf(e, a, u)),
    },
    {
      id: DISAGREEMENT,
      title: onScale ? DISAGREEMENT : `${DISAGREEMENT}, ranks in %`,
      hint: disagreementNote(evaluators[e]),
      value: difference,
      cell: (row) => (onScale ? score : (x) => printed(x, 'count'))(difference(row)),
    },
    ...units.columns.map((column) => ({
      id: column.id,
      title: column.title,
      text: true,
      className: 'key',
      value: ({ u }) => units.value(column, u),
      cell: ({ u }) => html`<${Words}>${units.value(column, u) ?? ''}</${Words}>`,
    })),
    { id: 'status', hidden: true, value: ({ u }) => units.statusOf(e, a, u) },
    { id: 'words', hidden: true, search: true, value: words },
  ]
}

/** What a list of units depends on: an evaluator, what is rated, and what the address filters and sorts by. */
function useUnits(study, params, pageSize) {
  const e = evaluatorOf(study, params)
  const a = ratedOf(study, params)
  const columns = useMemo(() => unitColumns(study, e, a), [study, e, a])
  const filters = Object.fromEntries([...study.units.keys.map(({ id }) => id), 'status'].map((id) => [id, params[id]]))
  const { sort = `-${DISAGREEMENT}`, q, page } = params
  return { e, a, found: useTable({ rows: study.units.rows, columns, sort, q, filters, page, pageSize }) }
}

/** The address of one unit in the list that it was found in. */
const unitHref = (params, u) => hrefOf('unit', { ...params, unit: u })

function KeyFilter({ column, params, set }) {
  const { id, title } = column
  const values = useMemo(() => [...column.values].sort(COLLATOR.compare), [column])
  const chosen = params[id] ?? ''
  const elsewhere = chosen && !values.includes(chosen) ? [chosen] : []
  return html`<${Select} label=${capital(title)} value=${chosen}
    options=${[['', 'all'], ...[...elsewhere, ...values].map((value) => [value, value])]}
    onChange=${(value) => set({ [id]: value, page: '' })} />`
}

/** Which of the filters name somebody who has no unit on the page, though perhaps in the data. */
const elsewhereOf = ({ units }, params) =>
  units.keys
    .filter(({ id, values }) => params[id] && !values.includes(params[id]))
    .map(({ id, title }) => `No unit of the ${title} ${params[id]} is on this page.`)

function UnitList({ study, params }) {
  const { e, a, found } = useUnits(study, params, PAGE)
  const { units } = study
  const { dimension } = units
  const param = ratedParam(units)
  const { name, label } = study.evaluators[e]
  const names = units.rated.map((x) => x.name)
  const summed = dimension?.values.some((v) => v.name === params[param]) && params[param] !== names[a]
  const set = (changes, options) => go('units', { ...params, ...changes }, options)
  const snippet = ({ u }) => {
    const text = units.parts.length ? beginning(units.text(units.parts[0], u)) : `unit ${count(u + 1)}`
    const href = unitHref({ ...params, evaluator: name }, u)
    return html`<a href=${href}><${Words}>${text || 'no text'}</${Words}> <span class="open">open ›</span></a>`
  }
  const shown = found.columns.map((c) => (c.id === 'text' ? { ...c, cell: snippet } : c))
  const statuses = units.statusNames
  const caption = html`Truth <${Words}>${study.truth}</${Words}> and scores of <${Words}>${label}</${Words}>,
    ${' '}${names[a]} <${Simulated} loud=${study.simulated.loud} />`
  return html`<section class="units">
    <h2 tabindex="-1">Units</h2>
    <div class="controls" role="group" aria-label="What is shown">
      <${Select} label="Evaluator" options=${study.evaluators.map((x) => [x.name, x.label])} value=${name}
        onChange=${(evaluator) => set({ evaluator, page: '' })} />
      ${
        (dimension || names.length > 1) &&
        html`<${Choice} label=${capital(dimension?.title ?? 'rated')} all=${names} value=${names[a]}
        onChange=${(to) => set({ [param]: to, page: '' })} />`
      }
      ${units.keys.map((column) => html`<${KeyFilter} key=${column.id} column=${column} params=${params}
        set=${set} />`)}
      <${Select} label="Status" value=${params.status ?? ''}
        options=${[['', 'all'], ...statuses.map((s) => [s, s])]}
        onChange=${(status) => set({ status, page: '' })} />
      <${Search} label="Search texts, titles, ids" value=${params.q}
        onInput=${(q) => set({ q, page: '' }, { replace: true })} />
    </div>
    ${summed && html`<p class="note">
      Units are rated ${dimension.title} by ${dimension.title}; this is ${names[a]}.</p>`}
    <${Notes} notes=${[disagreementNote(study.evaluators[e]), units.note, ...elsewhereOf(study, params)]} />
    <${DataTable} found=${{ ...found, columns: shown }} caption=${caption} label="units" noun="unit"
      rowHeader="text" rowKey=${({ u }) => u}
      onSort=${(sort) => set({ sort, page: '' }, { replace: true })}
      onPage=${(page) => set({ page }, { replace: true })} />
  </section>`
}
