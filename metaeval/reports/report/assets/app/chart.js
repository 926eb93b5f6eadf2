// A Vega-Lite chart: SVG with ARIA, drawn when it comes into view.
//
// Expressions are interpreted, not compiled, so that the page can forbid scripts that come as text.

const QUIET = {
  level: () => QUIET,
  error: () => QUIET,
  warn: () => QUIET,
  info: () => QUIET,
  debug: () => QUIET,
}

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
  return view
}

/** Milliseconds after which a chart that nobody scrolled to is drawn all the same. */
const LATER = 1500

/** `spec` and `rows` must be stable; `label` says what the chart shows. */
function Chart({ spec, rows, label }) {
  const box = useRef(null)
  const [problem, setProblem] = useState('')
  useEffect(() => {
    let view = null
    let gone = false
    function start() {
      stop()
      draw(box.current, spec, rows, label).then(
        (made) => (gone ? made.finalize() : (view = made)),
        (error) => gone || setProblem(String(error?.message ?? error)),
      )
    }
    const observer = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && start(), {
      rootMargin: '400px',
    })
    const later = setTimeout(start, LATER) // so that what is printed is there
    const stop = () => {
      clearTimeout(later)
      observer.disconnect()
    }
    setProblem('')
    observer.observe(box.current)
    return () => {
      gone = true
      stop()
      view?.finalize()
    }
  }, [spec, rows, label])
  return html`<${Wide} label=${label}>
    ${problem && html`<p class="note">This chart cannot be drawn (${problem}); its data are below.</p>`}
    <div class="chart" ref=${box}></div>
  </${Wide}>`
}
