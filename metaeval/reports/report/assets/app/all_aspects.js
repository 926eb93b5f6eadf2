// All aspects × levels of one coefficient, as in a paper: best bold, second underlined.

/** As printed, the best and the second value of a column; what looks equal is equal. */
function marksOf(study, view) {
  const shown = study.evaluators.map((_, e) => study.cell(e, view)?.estimate).filter((x) => x != null)
  if (shown.length < 2) return {}
  const [best, second] = [...new Set(shown.map((x) => Number(hundred(x))))].sort((a, b) => b - a)
  return { best, second }
}

function aspectColumns(study, coefficient) {
  const { aspects, levels } = study.views
  return aspects.flatMap((aspect) =>
    levels.map((level, i) => {
      const view = { aspect, level, coefficient }
      const { best, second } = marksOf(study, view)
      return {
        id: `${aspect}|${level}`,
        title: level,
        group: aspect,
        className: i === 0 ? 'first' : '',
        value: ({ e }) => study.cell(e, view)?.estimate,
        cell: ({ e, evaluator }) => {
          const text = hundred(study.cell(e, view)?.estimate)
          const mark = text === NOTHING ? '' : { [best]: 'best', [second]: 'second' }[Number(text)]
          return html`<${DownLink} study=${study} e=${e} view=${view}
            what=${`${evaluator.name}, ${aspect}, ${level} level`}>
            <span class=${mark}>${text}</span></${DownLink}>`
        },
      }
    }),
  )
}

function AllAspects({ study, rows, params, view, set }) {
  const { coefficient } = view
  const columns = useMemo(
    () => [
      { ...nameColumn, cell: ({ evaluator }) => html`<${Evaluator} evaluator=${evaluator} />` },
      ...aspectColumns(study, coefficient),
      ...FILTERS,
    ],
    [study, coefficient],
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
  const caption = html`<b>${coefficientName(coefficient)}</b>
    ${' '}with the truth <${Words}>${study.truth}</${Words}>, × 100;
    ${' '}the best of a column is bold, the second underlined`
  return html`<div class="marked"><${DataTable} found=${found} caption=${caption} label="the leaderboard"
    noun="evaluator" rowHeader="evaluator"
    rowKey=${({ e }) => e} blocks=${({ evaluator }) => evaluator.kindTitle}
    onSort=${(sort) => set({ sort }, { replace: true })} /></div>`
}
