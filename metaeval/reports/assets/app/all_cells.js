// All cells of two dimensions side by side, as in a paper: best bold, second underlined.

/** The best and the second value of a column, as printed; what looks equal is equal. */
function marksOf({ board, evaluators, cell }, view) {
  const known = evaluators.map((_, e) => cell(e, view)?.estimate).filter((x) => x != null)
  return known.length < 2 ? [] : [...new Set(known.sort(board.better(view)).map(board.print))].slice(0, 2)
}

function cellColumns(study, view) {
  const { board } = study
  const within = board.columns.at(-1)
  const [across] = board.columns.length > 1 ? board.columns : []
  const shown = across?.values ?? [null]
  return shown.flatMap((group) =>
    within.values.map(({ name }, i) => {
      const at = { ...view, ...(group && { [across.param]: group.name }), [within.param]: name }
      const marks = marksOf(study, at)
      const where = board.columns.map((d) => board.words(d, at)).join(', ')
      return {
        id: `${group?.name ?? ''}|${name}`,
        title: name + board.lowerWords(at),
        group: group?.name,
        className: group && i === 0 ? 'first' : '',
        ascending: !board.higherIn(at),
        value: ({ e }) => study.cell(e, at)?.estimate,
        cell: ({ e, evaluator }) => {
          const text = board.print(study.cell(e, at)?.estimate)
          return html`<${DownLink} study=${study} e=${e} view=${at} what=${`${evaluator.label}, ${where}`}>
            <span class=${['best', 'second'][marks.indexOf(text)] ?? ''}>${text}</span></${DownLink}>`
        },
      }
    }),
  )
}

function AllCells({ study, rows, params, view, set }) {
  const { board } = study
  const key = study.key(view)
  const columns = useMemo(
    () => [
      { ...nameColumn, cell: ({ evaluator }) => html`<${Evaluator} evaluator=${evaluator} />` },
      ...cellColumns(study, view),
      ...FILTERS,
    ],
    [study, key],
  )
  const inBlocks = useMemo(() => {
    const places = study.kinds.map(([kind]) => kind)
    return [...rows].sort((a, b) => places.indexOf(a.evaluator.kind) - places.indexOf(b.evaluator.kind))
  }, [study, rows])
  const found = useTable({
    rows: inBlocks,
    columns,
    sort: params.sort,
    q: params.q,
    filters: { kind: params.kind },
  })
  const caption = html`<${BoardCaption} study=${study} name=${board.name(view, board.columns)}
    where=${board.where(view, board.columns)}>; the best of a column is bold, the second underlined</${BoardCaption}>`
  return html`<div class="marked"><${DataTable} found=${found} caption=${caption} label="the leaderboard"
    noun="evaluator" rowHeader="evaluator"
    rowKey=${({ e }) => e} blocks=${({ evaluator }) => evaluator.kindTitle}
    onSort=${(sort) => set({ sort }, { replace: true })} /></div>
    <${Notes} notes=${study.policy} />`
}
