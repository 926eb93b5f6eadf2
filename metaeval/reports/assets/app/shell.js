// The frame around the views: heading, navigation, and where the focus goes when the view changes.

const VIEWS = {
  leaderboard: { title: () => 'Leaderboard', view: Leaderboard, there: () => true },
  groups: { title: groupsTitle, view: GroupsPage, alone: true, there: (study) => study.groups.length > 0 },
  units: { title: () => 'Units', view: UnitList, alone: true, there: (study) => study.units.rows.length > 0 },
  unit: { title: () => 'Unit', view: UnitPage, alone: true, there: () => false, under: 'units' },
  figures: { title: () => 'Figures', view: Figures, there: (study) => study.figures.length > 0 },
  details: sheetView('details'),
  biases: sheetView('biases'),
  calibration: sheetView('calibration'),
  about: { title: () => 'About', view: About, there: () => true },
}

/** Whether the page is being printed; charts that are shown then are drawn at once. */
let isPrinting = false
/** Whether a reader wants the view on paper that is shown, and no other. */
let printsOne = false

function PrintButtons({ whole }) {
  const print = (one) => {
    printsOne = one
    window.print()
    printsOne = false
  }
  return html`<span class="print"><button type="button" onClick=${() => print(true)}>Print this view</button>
    ${whole && html` <button type="button" onClick=${() => print(false)}>Print all</button>`}</span>`
}

function usePrinting() {
  const [printing, setPrinting] = useState('')
  useLayoutEffect(() => {
    const follow = ({ type }) => {
      isPrinting = type === 'beforeprint'
      setPrinting(!isPrinting ? '' : printsOne ? 'view' : 'all')
    }
    addEventListener('beforeprint', follow)
    addEventListener('afterprint', follow)
  }, [])
  return printing
}

/** The views of the page, with those that the kind of study adds behind the leaderboard: tables alone. */
function viewsOf({ sheets }) {
  const { leaderboard, ...others } = VIEWS
  const added = sheets.map(({ view }) => view).filter((view) => !Object.hasOwn(VIEWS, view))
  return { leaderboard, ...Object.fromEntries(added.map((view) => [view, sheetView(view)])), ...others }
}

function Header({ study, current, views }) {
  const { dataset } = study
  const narrow = useMatch('(max-width: 48rem)')
  const skip = (event) => {
    event.preventDefault() // the address is the view, so it cannot be an anchor as well
    document.getElementById('main').focus()
  }
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header>
      <div class="title">
        <h1><${Words}>${study.title}</${Words}></h1>
        <${ThemeButton} />
      </div>
      <p class="subtitle"><${Words}>${dataset.name}</${Words}> · ${plural(dataset.units, 'unit')} of ${dataset.clusters} ·
        ${' '}${plural(study.evaluators.length, 'evaluator')} · truth <${Words}>${study.truth}</${Words}></p>
      ${
        study.simulated.loud &&
        (narrow
          ? html`<details class="simulated"><summary><strong>${study.simulated.loud}</strong></summary>
        <${Words}>${study.simulated.sentence}</${Words}></details>`
          : html`<p class="simulated"><strong>${study.simulated.loud}</strong> <${Words}>${study.simulated.sentence}</${Words}></p>`)
      }
      ${
        study.lost.length > 0 &&
        html`<p class="simulated"><strong>LOST REPLIES.</strong>${' '}
        <${Words}>${study.lost.join(' ')}</${Words}></p>`
      }
      <nav class="views" aria-label="Views"><ul>
        ${Object.entries(views)
          .filter(([, { there }]) => there(study))
          .map(
            ([name, { title }]) => html`<li key=${name}>
          <a href=${hrefOf(name)}
            aria-current=${name === current ? 'page' : undefined}>${title(study)}</a></li>`,
          )}
      </ul></nav>
    </header>`
}

/** Each entry of the history keeps how far down its reader was, for Back; scrolling may end before its view is shown. */
function useScrollPlace() {
  const shown = useRef('')
  useLayoutEffect(() => void (shown.current = location.hash))
  useEffect(() => {
    const keep = () => shown.current === location.hash && history.replaceState({ top: scrollY }, '')
    history.scrollRestoration = 'manual'
    addEventListener('scrollend', keep)
    return () => removeEventListener('scrollend', keep)
  }, [])
}

function App({ study }) {
  const route = useRoute()
  useScrollPlace()
  const views = viewsOf(study)
  const known =
    Object.hasOwn(views, route.name) && (views[route.name].there(study) || views[route.name].under)
  const name = known ? route.name : 'leaderboard'
  const { title, under, alone } = views[name]
  // A report prints whole; a list of units or a unit by itself.
  const whole = usePrinting() === 'all' && !alone
  const shown = Object.keys(views).filter((v) =>
    whole ? !views[v].alone && views[v].there(study) : v === name,
  )
  const main = useRef(null)
  const place = name === 'unit' ? `unit ${route.params.unit}` : name
  const before = useRef('')
  // Before the browser lays the new view out, which would move a reader who is far down.
  useLayoutEffect(() => {
    document.title = `${title(study)} · ${study.title}`
    scrollTo(0, history.state?.top ?? 0)
    if (before.current) main.current.querySelector('h2')?.focus({ preventScroll: true })
    before.current = place
  }, [place])
  return html`<${Header} study=${study} current=${under ?? name} views=${views} />
    <main id="main" tabindex="-1" ref=${main}>
      ${shown.map((v) => html`<${views[v].view} key=${v} study=${study} params=${v === name ? route.params : {}} />`)}
    </main>
    <footer>Made by metaeval ${study.metaeval}. This page needs no other file and no network.
      <${PrintButtons} whole=${!alone} /></footer>`
}
