// The figures: a chart, what may be chosen, and the same numbers as a table.

/** A figure's columns of values → rows, those of the chosen values only. */
function figureRows({ rows }, chosen) {
  const names = Object.keys(rows)
  const length = names.length ? rows[names[0]].length : 0
  const kept = Array.from({ length }, (_, i) => i).filter((i) =>
    Object.entries(chosen).every(([column, value]) => rows[column][i] === value),
  )
  return kept.map((i) => Object.fromEntries(names.map((name) => [name, rows[name][i]])))
}

/** Choices come from the address as text; a figure's values may be numbers. */
function chosenOf(figure, params) {
  return Object.fromEntries(
    figure.choices.map(({ column, values, chosen }) => {
      const asked = params[`${figure.name}.${column}`]
      return [column, values.find((value) => String(value) === asked) ?? chosen]
    }),
  )
}

/** The chart with the words for what is chosen in its titles. */
function figureSpec({ spec, choices }, chosen) {
  const said = choices.filter(({ says }) => says)
  const say = (value) =>
    typeof value !== 'string'
      ? value
      : said.reduce(
          (text, { column, says, values, words }) =>
            text.replaceAll(says, typeset(words[values.indexOf(chosen[column])])),
          value,
        )
  const told = (part) => {
    if (part === null || typeof part !== 'object') return part
    if (Array.isArray(part)) return part.map(told)
    return Object.fromEntries(
      Object.entries(part).map(([name, value]) => [name, name === 'title' ? say(value) : told(value)]),
    )
  }
  return said.length ? told(spec) : spec
}

/** Save a chart as the page has it, in light colours, with its title and what is simulated. */
async function savePicture({ name, simulated }, title, spec, rows, suffix) {
  const box = document.body.appendChild(document.createElement('div'))
  box.className = 'picture'
  const [text, subtitle] = [title.match(/.{1,80}(\s|$)/g), simulated ? [simulated] : []]
  const view = await draw(box, { ...spec, title: { text, subtitle } }, rows, title)
  const colour = (_, name) => {
    box.style.color = `var(${name})`
    return getComputedStyle(box).color
  }
  const svg = (await view.toSVG()).replace(/var\((--[\w-]+)\)/g, colour)
  view.finalize()
  box.remove()
  if (suffix === 'svg') return save(new Blob([svg], { type: 'image/svg+xml' }), name, suffix)
  const image = new Image()
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`
  await image.decode()
  const canvas = document.createElement('canvas')
  Object.assign(canvas, { width: 2 * image.width, height: 2 * image.height })
  const context = canvas.getContext('2d')
  context.fillStyle = 'white'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(image, 0, 0, canvas.width, canvas.height)
  canvas.toBlob((blob) => save(blob, name, suffix))
}

/** The address of what a mark stands for: units, or an evaluator's groups or units; null if for neither. */
function markHref(study, { names, units }, datum) {
  const evaluator = names[datum.evaluator]
  if (!study.byName.has(evaluator)) return null
  const at = study.board.dimensions.filter((d) => d.values.some(({ name }) => name === datum[d.name]))
  const keys = Object.entries(units).map(([column, key]) => [`key.${key}`, datum[column]])
  return hrefOf(keys.length || !study.groups.length ? 'units' : 'groups', {
    evaluator,
    ...Object.fromEntries([...at.map((d) => [d.param, datum[d.name]]), ...keys]),
  })
}

/** The values of a mark that was pressed, which a finger cannot point at, and where it leads. */
function MarkValues({ study, figure, mark }) {
  const href = mark && markHref(study, figure, mark.datum)
  return html`<p class="mark" role="status">${
    mark && Object.entries(mark.tooltip).map(([title, value]) => html`<span>${title} <b><${Words}>${String(value)}</${Words}></b></span> `)
  }${href && html`<a href=${href}>its units</a>`}</p>`
}

function FigureView({ study, figure, params }) {
  const chosen = chosenOf(figure, params)
  const key = JSON.stringify(chosen)
  const spec = useMemo(() => figureSpec(figure, chosen), [figure, key])
  const rows = useMemo(() => figureRows(figure, chosen), [figure, key])
  const [data, setData] = useState(false)
  const [mark, setMark] = useState(null)
  const title = typeset(figure.findings[Object.values(chosen).join('|')] ?? figure.title)
  const choose = (column, value) =>
    go('figures', { ...params, figure: figure.name, [`${figure.name}.${column}`]: value }, { replace: true })
  const clicked = figure.spec.params?.some(({ name }) => name === 'chosen')
  const hint = clicked && 'A click on a line, a dot or a name gives it a colour, or takes it.'
  return html`<figure class="figure" id=${`figure-${figure.name}`}>
    <h3><${Words}>${title}</${Words}> <${Simulated} loud=${figure.simulated} /></h3>
    ${title !== figure.title && html`<p class="kicker">${figure.title}</p>`}
    <div class="controls" role="group" aria-label=${`What the figure shows: ${figure.title}`}>
      ${figure.choices.filter(({ values }) => values.length > 1).map(({ column, title, values }) => html`<${Choice} key=${column} label=${capital(title)}
        all=${values.map(String)} value=${String(chosen[column])} onChange=${(value) => choose(column, value)} />`)}
      <button type="button" aria-pressed=${data} onClick=${() => setData(!data)}>Data</button>
      ${['PNG', 'SVG'].map((form) => html`<button type="button" key=${form}
        onClick=${() => savePicture(figure, title, spec, rows, form.toLowerCase())}>${form}<span class="hidden"> of ${figure.title}</span></button>`)}
    </div>
    ${rows.length > 0 && html`<${Chart} spec=${spec} rows=${rows} label=${figure.title} onMark=${setMark} />
      <${MarkValues} study=${study} figure=${figure} mark=${mark} />`}
    ${rows.length === 0 && html`<p class="note">There are no data for this choice.</p>`}
    <p class="printed">${figure.choices.map(({ column, title }) => `${capital(title)}: ${chosen[column]}`).join(' · ')}</p>
    <figcaption><${Notes} notes=${[hint, ...figure.notes]} /></figcaption>
    ${data && html`<${FigureData} figure=${figure} rows=${rows} />`}
  </figure>`
}

function FigureData({ figure, rows }) {
  const [sort, setSort] = useState('')
  const [page, setPage] = useState(1)
  const columns = useMemo(
    () =>
      figure.columns.map(({ name, title, form }) => ({
        id: name,
        title,
        text: form === 'text',
        value: (row) => (form === 'text' && row[name] != null ? String(row[name]) : row[name]),
        cell: (row) =>
          form === 'text' ? html`<${Words}>${printed(row[name], form)}</${Words}>` : printed(row[name], form),
      })),
    [figure],
  )
  const keyed = useMemo(() => rows.map((row, key) => ({ ...row, ' key': key })), [rows])
  const found = useTable({ rows: keyed, columns, sort, page, pageSize: 100 })
  return html`<${DataTable} found=${found} caption=${`The data of: ${figure.title}`} label=${figure.title}
    noun="row" rowHeader=${columns[0].id} rowKey=${(row) => row[' key']}
    onSort=${(to) => (setSort(to), setPage(1))} onPage=${setPage} />`
}

function Figures({ study, params }) {
  const parts = study.figures.map(({ name, title }) => ({
    id: `figure-${name}`,
    href: hrefOf('figures', { ...params, figure: name }),
    title,
  }))
  return html`<section>
    <h2 tabindex="-1">Figures</h2>
    <${Contents} label="Figures" parts=${parts} first=${params.figure && `figure-${params.figure}`} />
    ${study.figures.map((figure) => html`<${FigureView} key=${figure.name} study=${study} figure=${figure} params=${params} />`)}
    <${Glossary} study=${study} />
  </section>`
}
