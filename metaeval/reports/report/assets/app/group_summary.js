// How the coefficients of groups are spread, and which groups an evaluator understands best and least.

/** A histogram of the coefficients, with a tick for each group, over the range that they take. */
function spreadOf(points, noun) {
  const terms = points.map(({ term }) => term)
  const span = Math.max(0, ...terms) - Math.min(0, ...terms)
  const step = span > 80 ? 10 : 5
  const domain = [
    Math.floor(Math.min(0, ...terms) / step) * step,
    Math.max(step, Math.ceil(Math.max(0, ...terms) / step) * step),
  ]
  return {
    width: 'container',
    height: 150,
    layer: [
      {
        mark: { type: 'bar', opacity: 0.75 },
        encoding: {
          x: { bin: { step, extent: domain }, field: 'term', title: 'coefficient × 100', scale: { domain } },
          y: { aggregate: 'count', title: noun, axis: { tickMinStep: 1 } },
        },
      },
      {
        mark: { type: 'tick', color: INK, opacity: 0.55, thickness: 1, size: 12, y: 144 },
        encoding: {
          x: { field: 'term', type: 'quantitative' },
          tooltip: [
            { field: 'name', title: noun.replace(/s$/, '') },
            { field: 'term', format: '.2f', title: 'coefficient × 100' },
          ],
        },
      },
      { mark: { type: 'rule', strokeDash: [4, 3] }, encoding: { x: { datum: 0 } } },
    ],
  }
}

function GroupLine({ keys, row, evaluator, aspect }) {
  return html`<li><a href=${unitsHref({ evaluator, aspect }, keys, row.ids)}>
    <${Words}>${row.ids.join(' · ')}</${Words}></a> ${hundred(row.term)}
    ${' '}<small>${plural(row.units, 'unit')}</small></li>`
}

function GroupsSummary({ study, e, view, rows, groups, noun }) {
  const defined = useMemo(() => rows.filter((r) => r.term !== null).sort((a, b) => b.term - a.term), [rows])
  const [points, spec] = useMemo(() => {
    const found = defined.map((r) => ({ term: 100 * r.term, name: r.ids.join(' · ') }))
    return [found, spreadOf(found, noun)]
  }, [defined, noun])
  const cell = study.cell(e, view)
  const above = defined.filter((r) => r.term > 0).length
  const below = defined.filter((r) => r.term < 0).length
  const most = Math.min(5, Math.floor(defined.length / 2))
  const address = { evaluator: study.evaluators[e].name, aspect: view.aspect }
  const few = (some) => some.map((row) => html`<${GroupLine} key=${row.g} keys=${groups.keys} row=${row} ...${address} />`)
  if (!defined.length)
    return html`<p>No coefficient is defined for any of these ${noun}: truth or scores are constant in each, or
      there are no scores.</p>`
  return html`<p>${cell && html`The mean over ${noun} is <b>${hundred(cell.estimate)}</b>. `}
      Of ${count(rows.length)} ${noun}${rows.length < groups.total && ' listed'}, ${count(above)} are above zero, ${count(below)} below zero and
      ${' '}${count(rows.length - defined.length)} undefined.</p>
    <div class="spread">
      <figure>
        <${Chart} spec=${spec} rows=${points} label=${`How the coefficients of ${noun} are spread`} />
        <figcaption>How many ${noun} have which coefficient; a tick stands for one of them.</figcaption>
      </figure>
      ${most > 0 && html`<div class="ends">
        <div><h3>Understands best</h3><ol>${few(defined.slice(0, most))}</ol></div>
        <div><h3>Understands least</h3><ol>${few(defined.slice(-most).reverse())}</ol></div>
      </div>`}
    </div>`
}
