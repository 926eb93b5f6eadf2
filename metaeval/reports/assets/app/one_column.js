// One column of the leaderboard: rank, rank range, interval, tests, what is missing, what it costs.

const pText = (value) => `p ${value < 0.001 ? '' : '= '}${printed(value, 'p')}`
const YES_NO = new Map([[true, 'yes'], [false, 'no']])

/** The column of rank ranges, then those of who may be the best, who is better than the baseline, and by how much. */
function testColumns(study, view) {
  const tests = study.testsOf(view)
  if (!tests) return []
  const { board } = study
  const of = (name) => ({ e }) => tests[name][e]
  const truth = (name, title, hint, more = () => '') => ({
    id: name,
    title,
    hint,
    className: 'nowrap',
    value: (row) => (of(name)(row) == null ? null : Number(of(name)(row))),
    csv: { [title]: (row) => YES_NO.get(of(name)(row)) },
    cell: (row) => (of(name)(row) == null ? NOTHING : `${YES_NO.get(of(name)(row))}${more(row)}`),
  })
  const against = {
    id: 'best',
    title: 'against the best',
    hint: 'Sorts by the difference',
    className: 'nowrap',
    value: of('difference'),
    csv: {
      difference: of('difference'),
      'difference, low': of('difference_low'),
      'difference, high': of('difference_high'),
      'p against the best': of('pAgainstBest'),
    },
    cell: (row) => {
      if (row.e === tests.best) return 'best'
      if (of('difference')(row) == null) return NOTHING
      if (of('difference_low')(row) == null) return pText(of('pAgainstBest')(row))
      const [value, low, high] = ['difference', 'difference_low', 'difference_high'].map((n) => board.print(of(n)(row)))
      return `${value} [${low}, ${high}]`
    },
  }
  if (tests.refused) return [null, against]
  return [
    {
      id: 'range',
      title: 'rank range',
      ascending: true,
      className: 'range',
      hint: 'The ranks that the data allow: some evaluators are shown better, and some worse',
      value: ({ e }) => (tests.range[e] ? Number.parseInt(tests.range[e], 10) : null),
      csv: { 'rank range': of('range') },
      cell: ({ e }) => tests.range[e] || NOTHING,
    },
    truth('mayBeBest', 'may be best', 'No evaluator is shown better', (row) => `, ${pText(of('pBest')(row))}`),
    tests.baseline && truth('better', `better than ${tests.baseline}`, 'Shown better than this baseline'),
    against,
  ]
}

/** The reasons of what the counts of a row have as missing: they are counted over other units, so without numbers. */
function whyMissing(study, view, { e, evaluator }) {
  const missing = study.board.counts.findIndex(({ name }) => name === 'n_missing')
  const reasons = study.cell(e, view)?.counts[missing] ? failuresOf(evaluator) : []
  return reasons.map(([status]) => (status === 'missing' ? 'no score' : status)).join(', ')
}

function countColumns(study, view) {
  const failed = study.evaluators.some((evaluator) => failuresOf(evaluator).length)
  return [
    ...study.board.counts.map(({ name, title }, i) => {
      const value = ({ e }) => study.cell(e, view)?.counts[i] ?? null
      const none = study.evaluators.every((_, e) => !value({ e })) // a column of zeros says nothing
      return { id: name, title, value, hidden: none, cell: (row) => printed(value(row), 'count') }
    }),
    failed && {
      id: 'why',
      title: 'why missing',
      hint: 'The most frequent reason first',
      text: true,
      value: (row) => whyMissing(study, view, row),
      className: 'why',
      cell: (row) => html`<${Status}>${whyMissing(study, view, row) || NOTHING}</${Status}>`,
    },
  ]
}

function columnsOf(study, view, axis, people) {
  const { board } = study
  const { ranks } = study.ranking(view)
  const cell = ({ e }) => study.cell(e, view)
  const intervals = study.evaluators.some((_, e) => study.cell(e, view)?.low != null)
  const [range, ...tested] = testColumns(study, view)
  const interval = {
    id: 'low',
    title: 'interval',
    hint: 'Sorts by the lower end',
    className: 'nowrap',
    value: (row) => cell(row)?.low,
    csv: Object.fromEntries(
      ['low', 'high'].map((end) => [
        board.head(`interval, ${end}`, board.form, view),
        (row) => board.inFile(cell(row)?.[end], board.form),
      ]),
    ),
    cell: (row) =>
      cell(row)?.low == null ? NOTHING : `[${board.print(cell(row).low)}, ${board.print(cell(row).high)}]`,
  }
  const second = study.evaluators.some((_, e) => study.cell(e, view)?.second != null) && {
    ...board.second,
    id: 'second',
    ascending: !board.higherIn(view),
    value: (row) => cell(row)?.second,
    cell: (row) => board.print(cell(row)?.second),
  }
  return [
    {
      id: 'rank',
      title: 'rank',
      ascending: true,
      className: 'rank',
      value: ({ e }) => ranks.get(e),
      cell: ({ e }) => ranks.get(e) ?? NOTHING,
    },
    range,
    nameColumn,
    {
      id: 'estimate',
      title: board.head(board.estimate, board.form, view) + board.lowerWords(view),
      csv: { [board.head(board.estimate, board.form, view)]: (row) => board.inFile(cell(row)?.estimate, board.form) },
      ascending: !board.higherIn(view),
      className: 'estimate',
      value: (row) => cell(row)?.estimate,
      cell: (row) =>
        html`<${DownLink} study=${study} e=${row.e}
          view=${view}>${board.print(cell(row)?.estimate)}</${DownLink}>`,
    },
    {
      id: 'drawn',
      unsortable: true,
      className: 'drawn',
      header: html`<${AxisHead} axis=${axis} people=${people} />`,
      value: () => null,
      cell: (row) => html`<${Interval} axis=${axis} people=${people} cell=${cell(row)} />`,
    },
    second,
    intervals && interval,
    ...tested,
    ...countColumns(study, view),
    ...costColumns(study),
    ...FILTERS,
  ].filter(Boolean)
}

/** Where nobody tested this column, say so, and where somebody did. */
function TestsNote({ study, params, view }) {
  if (study.testsOf(view)) return null
  const links = study.tests.map((tested) => {
    const href = hrefOf('leaderboard', { ...params, ...tested.view })
    return html`<a href=${href} key=${href}>${study.board.listed(tested.view)}</a>`
  })
  return html`<p class="note">Differences in this column were not tested.
    ${links.length > 0 && html` Tested: ${links.map((link, i) => [i > 0 && ' · ', link])}.`}</p>`
}

/** The place of two evaluators among all pairs, 0 and 1, 0 and 2, and so on. */
const pairAt = (i, j, n) => (i * (2 * n - i - 1)) / 2 + j - i - 1

/** Any two rows, at first the upper two that are no people: their difference, its interval, p. */
function Compared({ study, params, view, order, set }) {
  const tests = study.testsOf(view)
  const { board, evaluators } = study
  const known = order.map(({ e }) => e).filter((e) => study.cell(e, view)?.estimate != null)
  if (!tests || known.length < 2) return null
  const tools = known.filter((e) => evaluators[e].kind !== 'annotator')
  const first = tools.length > 1 ? tools : known
  const one = study.byName.get(params.one) ?? first[0]
  const other = study.byName.get(params.other) ?? first.find((e) => e !== one)
  const pick = (name, label, value) => html`<${Select} label=${label} value=${evaluators[value].name}
    options=${evaluators.map((e) => [e.name, e.label])} onChange=${(to) => set({ one: evaluators[one].name, other: evaluators[other].name, [name]: to }, { replace: true })} />`
  return html`<div class="controls compared" role="group" aria-label="Compare two evaluators">
    ${pick('one', 'Compare', one)} ${pick('other', 'with', other)}
    <p role="status"><${Words}>${comparison(board, evaluators, tests, one, other, view)}</${Words}></p>
  </div>`
}

/** What is shown of two evaluators, in a sentence. */
function comparison(board, evaluators, { pairs, alpha }, one, other, view) {
  if (one === other) return 'Choose two that differ.'
  const [i, j] = [one, other].sort((a, b) => a - b)
  const at = pairAt(i, j, evaluators.length)
  const [raw, half, single, all] = ['difference', 'half', 'p', 'all'].map((name) => pairs[name][at])
  const [first, second] = [one, other].map((e) => evaluators[e].label)
  if (raw == null) return `${first} and ${second} were not compared.`
  const difference = one < other ? raw : -raw
  const ends = half == null ? '' : ` [${board.print(difference - half)}, ${board.print(difference + half)}]`
  const ahead = difference > 0 === board.higherIn(view) ? first : second
  const verdict = all == null ? 'Whether they differ was not tested' : all <= alpha ? `${ahead} is shown to be better` : 'Neither is shown to be better'
  const corrected = all === single ? '' : `; ${pText(all)} corrected for all ${count(pairs.p.length)} pairs`
  const tested = single == null ? '' : `, ${pText(single)}${corrected}`
  return `${verdict}. ${first} less ${second}: ${board.print(difference)}${ends}${tested}.`
}

function OneColumn({ study, rows, params, view, set }) {
  const { board } = study
  const key = study.key(view)
  const people = study.peopleOf(view)
  const columns = useMemo(() => {
    const cells = study.evaluators.map((_, e) => study.cell(e, view)).filter(Boolean)
    const axis = axisOf(
      [...cells.flatMap((c) => [c.low, c.estimate, c.high]), ...people.map((p) => p.estimate)],
      board.form,
      board.chanceIn(view),
    )
    return columnsOf(study, view, axis, people)
  }, [study, key])
  // A column that was sorted by may not be there for another view.
  const sort = columns.some((c) => c.id === params.sort?.replace(/^-/, '')) ? params.sort : 'rank'
  const found = useTable({ rows, columns, sort, q: params.q, filters: { kind: params.kind } })
  const caption = html`<${BoardCaption} study=${study} name=${board.name(view)} where=${board.where(view)} />`
  const intervals = columns.some((c) => c.id === 'low')
  const second = columns.some((c) => c.id === 'second') && board.second.note
  const notes = [study.testsOf(view)?.sentence, second, ...study.policy]
  return html`
    <${DataTable} found=${found} caption=${caption} label="the leaderboard" noun="evaluator"
      rowHeader="evaluator" rowKey=${({ e }) => e}
      onSort=${(to) => set({ sort: to === 'rank' ? '' : to }, { replace: true })} />
    <${Compared} study=${study} params=${params} view=${view} order=${found.ordered} set=${set} />
    <${AxisLegend} board=${board} people=${people} intervals=${intervals}
      chance=${board.chanceIn(view)} />
    <${TestsNote} study=${study} params=${params} view=${view} />
    <${Notes} notes=${notes} />`
}
