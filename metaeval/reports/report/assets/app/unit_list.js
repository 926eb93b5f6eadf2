// Units: searched, filtered, sorted; the list and the pages of single units share the order.

const PAGE = 50

/** The real aspect of an address: units are rated for one, never for the average. */
function ratedAspect(study, params) {
  const names = study.aspects.map((a) => a.name)
  return Math.max(0, names.indexOf(oneOf(params.aspect, names, names[0])))
}

function unitColumns({ units, evaluators }, e, a) {
  const difference = ({ u }) => {
    const given = units.scoreOf(e, a, u)
    const truth = units.truthOf(a, u)
    return given === null || truth === null ? null : Math.abs(given - truth)
  }
  const words = ({ u }) =>
    [units.text(units.explanation[u]), ...Object.keys(units.columns).map((c) => units.value(c, u) ?? '')]
      .join('\n')
      .toLowerCase()
  const named = [...('item_title' in units.columns ? ['item_title'] : []), ...units.keys]
  return [
    {
      id: 'explanation',
      title: 'explanation',
      text: true,
      className: 'snippet',
      value: ({ u }) => units.text(units.explanation[u]),
    },
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
      cell: ({ u }) =>
        units.scoreOf(e, a, u) === null
          ? html`<${Status}>${units.statusOf(e, a, u)}</${Status}>`
          : score(units.scoreOf(e, a, u)),
    },
    evaluators[e].onScale && {
      id: 'difference',
      title: '|difference|',
      hint: 'How far score and truth are apart',
      value: difference,
      cell: (row) => score(difference(row)),
    },
    ...named.map((key) => ({
      id: key,
      title: keyTitle(key),
      text: true,
      className: 'key',
      value: ({ u }) => units.value(key, u),
      cell: ({ u }) => html`<${Words}>${units.value(key, u) ?? ''}</${Words}>`,
    })),
    { id: 'status', hidden: true, value: ({ u }) => units.statusOf(e, a, u) },
    { id: 'words', hidden: true, search: true, value: words },
  ].filter(Boolean)
}

/** What a list of units depends on: an evaluator, an aspect, and what the address filters and sorts by. */
function useUnits(study, params, pageSize) {
  const e = evaluatorOf(study, params)
  const a = ratedAspect(study, params)
  const columns = useMemo(() => unitColumns(study, e, a), [study, e, a])
  const filters = Object.fromEntries([...study.units.keys, 'status'].map((key) => [key, params[key]]))
  const { sort, q, page } = params
  return { e, a, found: useTable({ rows: study.units.rows, columns, sort, q, filters, page, pageSize }) }
}

/** The address of one unit in the list that it was found in. */
const unitHref = (params, u) => hrefOf('unit', { ...params, unit: u })

function KeyFilter({ study, name, params, set }) {
  const values = useMemo(() => [...study.units.columns[name].values].sort(COLLATOR.compare), [study, name])
  const chosen = params[name] ?? ''
  const elsewhere = chosen && !values.includes(chosen) ? [chosen] : []
  return html`<${Select} label=${capital(keyTitle(name))} value=${chosen}
    options=${[['', 'all'], ...[...elsewhere, ...values].map((value) => [value, value])]}
    onChange=${(value) => set({ [name]: value, page: '' })} />`
}

/** Which of the filters name somebody who has no unit on the page, though perhaps in the data. */
const elsewhereOf = ({ units }, params) =>
  units.keys
    .filter((key) => params[key] && !units.columns[key].values.includes(params[key]))
    .map((key) => `No unit of the ${keyTitle(key)} ${params[key]} is on this page.`)

function UnitList({ study, params }) {
  const { e, a, found } = useUnits(study, params, PAGE)
  const { units } = study
  const { name } = study.evaluators[e]
  const set = (changes, options) => go('units', { ...params, ...changes }, options)
  const snippet = ({ u }) => {
    const text = beginning(units.text(units.explanation[u]), 160)
    const href = unitHref({ ...params, evaluator: name }, u)
    return html`<a href=${href}><${Words}>${text || 'no text'}</${Words}> <span class="open">open ›</span></a>`
  }
  const shown = found.columns.map((c) => (c.id === 'explanation' ? { ...c, cell: snippet } : c))
  const statuses = units.statusNames
  const caption = html`Truth <${Words}>${study.truth}</${Words}> and scores of <${Words}>${name}</${Words}>,
    ${' '}${study.aspects[a].name}`
  return html`<section class="units">
    <h2 tabindex="-1">Units</h2>
    <div class="controls" role="group" aria-label="What is shown">
      <${Choice} label="Evaluator" all=${study.evaluators.map((x) => x.name)} value=${name}
        onChange=${(evaluator) => set({ evaluator, page: '' })} />
      <${Choice} label="Aspect" all=${study.aspects.map((x) => x.name)} value=${study.aspects[a].name}
        onChange=${(aspect) => set({ aspect, page: '' })} />
      ${units.keys.map((key) => html`<${KeyFilter} key=${key} study=${study} name=${key} params=${params}
        set=${set} />`)}
      <${Select} label="Status" value=${params.status ?? ''}
        options=${[['', 'all'], ...statuses.map((s) => [s, s])]}
        onChange=${(status) => set({ status, page: '' })} />
      <${Search} label="Search texts, titles, ids" value=${params.q}
        onInput=${(q) => set({ q, page: '' }, { replace: true })} />
    </div>
    ${params.aspect === 'average' && study.hasAverage && html`<p class="note">
      Units are rated aspect by aspect; this is ${study.aspects[a].name}.</p>`}
    <${Notes} notes=${[units.note, ...elsewhereOf(study, params)]} />
    <${DataTable} found=${{ ...found, columns: shown }} caption=${caption} label="units" noun="unit"
      rowHeader="explanation" rowKey=${({ u }) => u}
      onSort=${(sort) => set({ sort, page: '' }, { replace: true })}
      onPage=${(page) => set({ page }, { replace: true })} />
  </section>`
}
