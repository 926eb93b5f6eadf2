// Where the reader is: #/view?choice=value, so that Back works and a view can be bookmarked.

function routeNow() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  return { name: path || 'leaderboard', params: Object.fromEntries(new URLSearchParams(query)) }
}

/** The address of a view; what is empty is left out. */
function hrefOf(name, params = {}) {
  const given = Object.entries(params).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  )
  const query = new URLSearchParams(given.map(([k, v]) => [k, String(v)])).toString()
  return `#/${name}${query ? `?${query}` : ''}`
}

/** Go to a view; `replace` for what a reader does not want to undo step by step, such as typing. */
function go(name, params, { replace = false } = {}) {
  const href = hrefOf(name, params)
  if (href === location.hash) return
  if (replace) {
    history.replaceState(history.state, '', href)
    dispatchEvent(new Event('hashchange'))
  } else {
    location.hash = href
  }
}

function useRoute() {
  const [route, setRoute] = useState(routeNow)
  useLayoutEffect(() => {
    const follow = () => setRoute(routeNow())
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return route
}

const oneOf = (value, allowed, otherwise) => (allowed.includes(value) ? value : otherwise)

/** The view of an address: a value of each dimension, the one shown first where it says none. */
const viewOf = ({ board }, params) =>
  Object.fromEntries(
    board.dimensions.map(({ param, values, first }) => [
      param,
      oneOf(
        params[param],
        values.map(({ name }) => name),
        first,
      ),
    ]),
  )

/** The evaluator of an address; else the best by the column that orders the leaderboard. */
function evaluatorOf(study, params) {
  return study.byName.get(params.evaluator) ?? study.ranking(viewOf(study, {})).order[0] ?? 0
}
