// One evaluator by named groups of units: which of them does it understand, and which not.

const groupsTitle = (study) => capital(listed(study.groups.map(({ noun }) => noun)))

/** The address of a group's units. */
const unitsHref = (address, keys, ids) =>
  hrefOf('units', { ...address, ...Object.fromEntries(keys.map(({ id }, k) => [id, ids[k]])) })

/** The groups of an address: those it names, else those that a view's estimates are means over. */
function groupsAt(study, params, view) {
  const fits = ({ at }) => Object.keys(at).length > 0 && Object.keys(at).every((k) => at[k] === view[k])
  return study.groups.find(({ name }) => name === params.by) ?? study.groups.find(fits) ?? study.groups[0]
}

function GroupsPage({ study, params }) {
  const { board } = study
  const e = evaluatorOf(study, params)
  const viewed = viewOf(study, params)
  const groups = groupsAt(study, params, viewed)
  const view = { ...viewed, ...groups.at }
  const { name } = study.evaluators[e]
  const set = (changes, options) => go('groups', { evaluator: name, ...viewed, ...params, ...changes }, options)
  const key = study.key(view)
  const rows = useMemo(() => groupRows(groups, e, view), [groups, e, key])
  const { noun } = groups
  // What the groups stand for is chosen where its dimension would be.
  const offered = board.dimensions.filter((d) => groups.columns.some((c) => c.dimensions.includes(d)))
  const place = board.dimensions.findIndex((d) => d.param in groups.at)
  const before = offered.filter((d) => board.dimensions.indexOf(d) < place)
  const choices = { view, set: (to) => set({ ...to, page: '' }) }
  const shared = { study, e, view, rows, groups }
  return html`<section class="groups">
    <h2 tabindex="-1">${groupsTitle(study)}: <${Evaluator} evaluator=${study.evaluators[e]} /></h2>
    <div class="controls" role="group" aria-label="What is shown">
      <${Select} label="Evaluator" options=${study.evaluators.map((x) => [x.name, x.label])} value=${name}
        onChange=${(evaluator) => set({ evaluator, page: '' })} />
      <${DimensionChoices} dimensions=${before} ...${choices} />
      <${Select} label="By" value=${groups.name} options=${study.groups.map((g) => [g.name, g.title])}
        onChange=${(by) => set({ by, page: '', sort: '' })} />
      <${DimensionChoices} dimensions=${offered.filter((d) => !before.includes(d))} ...${choices} />
      <${Search} label=${`Search ${noun}`} value=${params.q}
        onInput=${(q) => set({ q, page: '' }, { replace: true })} />
    </div>
    <${Notes} notes=${[groups.note]} />
    <${GroupsSummary} ...${shared} viewed=${viewed} />
    <${GroupsTable} ...${shared} params=${params} set=${set}
      without=${board.dimensions.filter((d) => !offered.includes(d))} />
  </section>`
}

/** The groups with one number per column; `term` is the first, by which they are ordered. */
function groupRows(groups, e, view) {
  const columns = groups.columns.map(({ dimensions, of }) =>
    dimensions.reduce(
      (found, d) => found?.[d.values.findIndex(({ name }) => name === view[d.param])],
      of[e],
    ),
  )
  return groups.ids.map((ids, g) => {
    const numbers = columns.map((column) => column?.[g] ?? null)
    return { g, ids, units: groups.units[g], numbers, term: numbers[0] }
  })
}

function GroupsTable({ study, e, view, rows, groups, without, params, set }) {
  const { board } = study
  const key = study.key(view)
  const columns = useMemo(() => {
    const address = { evaluator: study.evaluators[e].name, ...view }
    const numbers = groups.columns.map(({ title, form, hint }, i) => ({
      id: `number${i}`,
      title: board.head(title, form, view),
      hint,
      ascending: !board.higherIn(view),
      value: (row) => row.numbers[i],
      csv: { [board.head(title, form, view)]: (row) => board.inFile(row.numbers[i], form) },
      cell: (row) => printed(row.numbers[i], form),
    }))
    return [
      ...groups.keys.map(({ id, title }, k) => ({
        id,
        title,
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
      ...numbers.filter((_, i) => i === 0 || rows.some((row) => row.numbers[i] !== null)),
      { id: 'words', hidden: true, search: true, value: (row) => row.ids.join('\n').toLowerCase() },
    ]
  }, [rows, groups, key, e])
  const found = useTable({
    rows,
    columns,
    sort: params.sort || `${board.higherIn(view) ? '-' : ''}number0`,
    q: params.q,
    page: params.page,
    pageSize: 50,
  })
  const caption = html`<b>${board.name(view)}</b> by ${[groups.title, ...board.where(view, without)].join(', ')}${' '}<${Simulated} loud=${study.simulated.loud} />`
  return html`<${DataTable} found=${found} caption=${caption} label=${groups.noun} noun=${groups.noun}
    rowHeader=${groups.keys[0].id} rowKey=${({ g }) => g}
    onSort=${(sort) => set({ sort, page: '' }, { replace: true })}
    onPage=${(page) => set({ page }, { replace: true })} />`
}
