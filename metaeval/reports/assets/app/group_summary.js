// How the numbers of groups are spread, and which groups an evaluator understands best and least.

/** A histogram of the numbers, with a tick for each group, over the range that they take. */
function spreadOf(points, noun, title, inHundredths) {
  const terms = points.map(({ term }) => term)
  const span = Math.max(0, ...terms) - Math.min(0, ...terms)
  const step = inHundredths ? (span > 80 ? 10 : 5) : stepOf(span || 1, 20)
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
          x: { bin: { step, extent: domain }, field: 'term', title, scale: { domain } },
          y: { aggregate: 'count', title: noun, axis: { tickMinStep: 1 } },
        },
      },
      {
        mark: { type: 'tick', color: INK, opacity: 0.55, thickness: 1, size: 12, y: 144 },
        encoding: {
          x: { field: 'term', type: 'quantitative' },
          tooltip: [
            { field: 'name', title: noun.replace(/s$/, '') },
            { field: 'term', format: inHundredths ? '.2f' : '.4~g', title },
          ],
        },
      },
      { mark: { type: 'rule', strokeDash: [4, 3] }, encoding: { x: { datum: 0 } } },
    ],
  }
}

function GroupLine({ groups, row, address }) {
  return html`<li><a href=${unitsHref(address, groups.keys, row.ids)}>
    <${Words}>${row.ids.join(' · ')}</${Words}></a> ${printed(row.term, groups.columns[0].form)}
    ${' '}<small>${plural(row.units, 'unit')}</small></li>`
}

/** `viewed` is what the reader comes from: its estimate may be of another level than `view`, which has groups. */
function GroupsSummary({ study, e, view, viewed, rows, groups }) {
  const { board } = study
  const { noun } = groups
  const defined = useMemo(
    () => rows.filter((r) => r.term !== null).sort((a, b) => board.better(view)(a.term, b.term)),
    [rows],
  )
  const [points, spec] = useMemo(() => {
    const [times, sign] = scaleOf(groups.columns[0].form)
    const found = defined.map((r) => ({ term: times * r.term, name: r.ids.join(' · ') }))
    return [found, spreadOf(found, noun, board.noun + sign, times === 100)]
  }, [defined, groups])
  const mean = Object.keys(groups.at).length > 0 && study.cell(e, view)
  const spoken = board.dimensions.filter(({ param }) => param in groups.at)
  const where = (at) => spoken.map((d) => board.words(d, at)).join(', ')
  const other = spoken.some(({ param }) => viewed[param] !== view[param]) && study.cell(e, viewed)
  const above = defined.filter((r) => r.term > 0).length
  const below = defined.filter((r) => r.term < 0).length
  const most = Math.min(5, Math.floor(defined.length / 2))
  const address = { evaluator: study.evaluators[e].name, ...view }
  const few = (some) => some.map((row) => html`<${GroupLine} key=${row.g} groups=${groups} row=${row} address=${address} />`)
  if (!defined.length)
    return html`<p>No ${board.noun} is defined for any of these ${noun}${groups.undefined && `: ${groups.undefined}`}.</p>`
  return html`<p>${mean && html`The mean over ${noun} (${where(view)}) is <b>${board.print(mean.estimate)}</b>. `}
      ${other && html`At the ${where(viewed)} it is <b>${board.print(other.estimate)}</b>. `}
      Of ${count(rows.length)} ${noun}${rows.length < groups.total && ' listed'}, ${
        below > 0 ? `${count(above)} are above zero, ${count(below)} below zero and` : ''
      } ${count(rows.length - defined.length)} ${below > 0 ? '' : 'are '}undefined.</p>
    <div class="spread">
      <figure>
        <${Chart} spec=${spec} rows=${points} label=${`How the ${board.noun}s of ${noun} are spread`} />
        <figcaption>How many ${noun} have which ${board.noun}; a tick stands for one of them.</figcaption>
      </figure>
      ${most > 0 && html`<div class="ends">
        <div><h3>Understands best</h3><ol>${few(defined.slice(0, most))}</ol></div>
        <div><h3>Understands least</h3><ol>${few(defined.slice(-most).reverse())}</ol></div>
      </div>`}
    </div>`
}
