// One evaluator by user, by pair, by item: which of them does it understand, and which not.

const LEVEL_NOUNS = { user: 'users', pair: 'pairs', item: 'items', generator: 'generators' }
const groupsTitle = (study) =>
  capital(listed(Object.keys(study.groups).map((level) => LEVEL_NOUNS[level] ?? level)))

const KEY_TITLES = { user_id: 'user', item_id: 'item', generator: 'generator', item_title: 'title' }
const keyTitle = (key) => KEY_TITLES[key] ?? key

/** The address of a group's units. */
function unitsHref({ evaluator, aspect }, keys, ids) {
  return hrefOf('units', { evaluator, aspect, ...Object.fromEntries(keys.map((key, k) => [key, ids[k]])) })
}

function GroupsPage({ study, params }) {
  const levels = Object.keys(study.groups)
  const e = evaluatorOf(study, params)
  const view = viewOf(study, params)
  // A level that is no mean over groups leads to the first that is.
  const level = oneOf(view.level, levels, levels[0])
  const groups = study.groups[level]
  const { aspect, coefficient } = view
  const { name } = study.evaluators[e]
  const set = (changes, options) =>
    go('groups', { evaluator: name, ...view, level, ...params, ...changes }, options)
  const a = study.views.aspects.indexOf(aspect)
  const rows = useMemo(() => groupRows(groups, e, a, coefficient), [groups, e, a, coefficient])
  const noun = LEVEL_NOUNS[level] ?? level
  return html`<section class="groups">
    <h2 tabindex="-1">${groupsTitle(study)}: <${Evaluator} evaluator=${study.evaluators[e]} /></h2>
    <div class="controls" role="group" aria-label="What is shown">
      <${Choice} label="Evaluator" all=${study.evaluators.map((x) => x.name)} value=${name}
        onChange=${(evaluator) => set({ evaluator, page: '' })} />
      <${Choice} label="Aspect" all=${study.views.aspects} value=${aspect}
        onChange=${(to) => set({ aspect: to, page: '' })} />
      <${Select} label="By" value=${level} options=${levels.map((l) => [l, study.groups[l].title])}
        onChange=${(to) => set({ level: to, page: '', sort: '' })} />
      <${Choice} label="Coefficient" all=${study.views.coefficients} value=${coefficient}
        onChange=${(to) => set({ coefficient: to, page: '' })} />
      <${Search} label=${`Search ${noun}`} value=${params.q}
        onInput=${(q) => set({ q, page: '' }, { replace: true })} />
    </div>
    <${Notes} notes=${[groups.note]} />
    <${GroupsSummary} study=${study} e=${e} view=${{ ...view, level }} rows=${rows} groups=${groups}
      noun=${noun} />
    <${GroupsTable} study=${study} view=${view} name=${name} rows=${rows} groups=${groups} noun=${noun}
      params=${params} set=${set} />
  </section>`
}

function groupRows(groups, e, a, coefficient) {
  const terms = groups.terms[coefficient]?.[e]?.[a] ?? []
  const bias = groups.bias?.[e]?.[a] ?? []
  return groups.ids.map((ids, g) => ({
    g,
    ids,
    units: groups.units[g],
    term: terms[g] ?? null,
    bias: bias[g] ?? null,
  }))
}

function GroupsTable({ study, view, name, rows, groups, noun, params, set }) {
  const columns = useMemo(() => {
    const address = { evaluator: name, aspect: view.aspect }
    return [
      ...groups.keys.map((key, k) => ({
        id: key,
        title: keyTitle(key),
        text: true,
        className: 'key',
        value: (row) => row.ids[k],
        cell: (row) =>
          k === 0
            ? html`<a href=${unitsHref(address, groups.keys, row.ids)}><${Words}>${row.ids[k]}</${Words}>
              <span class="hidden">: its units</span></a>`
            : html`<${Words}>${row.ids[k]}</${Words}>`,
      })),
      { id: 'units', title: 'units', value: (row) => row.units, cell: (row) => count(row.units) },
      {
        id: 'term',
        title: `${view.coefficient} × 100`,
        value: (row) => row.term,
        cell: (row) => hundred(row.term),
      },
      rows.some((row) => row.bias !== null) && {
        id: 'bias',
        title: 'score − truth',
        hint: 'Mean of score minus truth',
        value: (row) => row.bias,
        cell: (row) => (row.bias === null ? NOTHING : fixed(row.bias, 2)),
      },
      { id: 'words', hidden: true, search: true, value: (row) => row.ids.join('\n').toLowerCase() },
    ].filter(Boolean)
  }, [rows, groups, view.coefficient, view.aspect, name])
  const found = useTable({
    rows,
    columns,
    sort: params.sort || '-term',
    q: params.q,
    page: params.page,
    pageSize: 50,
  })
  const caption = html`<b>${coefficientName(view.coefficient)}</b> by ${groups.title},
    ${' '}${aspectName(study, view.aspect)}, × 100`
  return html`<${DataTable} found=${found} caption=${caption} label=${noun} noun=${noun}
    rowHeader=${groups.keys[0]} rowKey=${({ g }) => g}
    onSort=${(sort) => set({ sort, page: '' }, { replace: true })}
    onPage=${(page) => set({ page }, { replace: true })} />`
}
