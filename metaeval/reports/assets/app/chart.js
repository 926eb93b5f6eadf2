// A Vega-Lite chart: SVG with ARIA.
//
// Expressions are interpreted, not compiled, so that the page can forbid scripts that come as text.

const QUIET = {
  level: () => QUIET,
  error: () => QUIET,
  warn: () => QUIET,
  info: () => QUIET,
  debug: () => QUIET,
}

/** Charts of more pixels than these have a page of paper to themselves. */
const TALL = 480

async function draw(container, spec, rows, label) {
  const width = container.clientWidth
  const whole = {
    description: label,
    ...withRoom(inTheme(spec), width),
    data: { name: 'table' },
    datasets: { table: rows },
  }
  const { spec: compiled } = vendor.compile(whole, { config: configFor(width), logger: QUIET })
  const view = new vendor.View(vendor.parse(compiled, undefined, { ast: true }), {
    container,
    expr: vendor.expressionInterpreter,
    logger: QUIET,
    renderer: 'svg',
  })
  await view.runAsync()
  container.classList.toggle('tall', view.height() > TALL)
  return view
}

/** `spec`, `rows` and `onMark`, which takes a mark that is pressed, must be stable; `label` says what is shown. */
function Chart({ spec, rows, label, onMark }) {
  const box = useRef(null)
  const [problem, setProblem] = useState('')
  useLayoutEffect(() => {
    let view = null
    let gone = false
    let drawn = false
    function start() {
      if (drawn) return
      drawn = true
      draw(box.current, spec, rows, label).then(
        (made) => {
          if (gone) return made.finalize()
          view = made
          if (onMark) made.addEventListener('click', (_, item) => onMark(item?.tooltip ? item : null))
        },
        (error) => gone || setProblem(String(error?.message ?? error)),
      )
    }
    setProblem('')
    // One after another, so that a page of many charts answers meanwhile; at once where it is printed.
    const later = setTimeout(start)
    if (isPrinting) start()
    addEventListener('beforeprint', start)
    return () => {
      gone = true
      clearTimeout(later)
      removeEventListener('beforeprint', start)
      view?.finalize()
    }
  }, [spec, rows, label])
  return html`<${Wide} label=${label}>
    ${problem && html`<p class="note">This chart cannot be drawn (${problem}); its data are below.</p>`}
    <div class="chart" ref=${box}></div>
  </${Wide}>`
}
