// The payload, and the look-ups that the views need.

async function readPayload() {
  const text = atob(document.getElementById('payload').textContent.trim())
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  return new Response(stream).json()
}

/** A function that works once for each key. */
function once(make) {
  const made = new Map()
  return (...key) => {
    const name = key.join('\u0000')
    if (!made.has(name)) made.set(name, make(...key))
    return made.get(name)
  }
}

/** The payload with its board and units made ready, and `cell`, `testsOf`, `peopleOf`, `ranking` of a view. */
function studyOf(payload) {
  const { cells, answer } = payload
  const evaluators = payload.evaluators.map((e) => ({ ...e, trust: answer.judges[e.name]?.words }))
  const board = boardOf(payload.board)
  const units = unitsOf(payload.units, board)
  const key = (view) => board.dimensions.map((d) => view[d.param]).join('\u0000')
  const viewed = (parts) => parts.map((part) => ({ ...part, view: board.viewAt(part.at) }))
  const tests = viewed(payload.tests)
  const people = viewed(payload.people)
  const at = new Map(
    cells.evaluator.map((e, i) => [`${e} ${key(board.viewAt(cells.at.map((codes) => codes[i])))}`, i]),
  )

  const cell = (e, view) => {
    const i = at.get(`${e} ${key(view)}`)
    if (i === undefined) return null
    const [estimate, low, high] = [cells.estimate, cells.low, cells.high].map((column) => column[i])
    return { estimate, low, high, second: cells.second?.[i], counts: cells.counts.map((column) => column[i]) }
  }

  /** Evaluators with an estimate, the best first; equals share a rank. */
  const ranking = (view) => {
    const estimates = evaluators.map((_, e) => cell(e, view)?.estimate ?? null)
    const order = estimates.map((_, e) => e).filter((e) => estimates[e] !== null)
    const better = board.better(view)
    order.sort((a, b) => better(estimates[a], estimates[b]))
    const ranks = new Map(order.map((e) => [e, 1 + order.findIndex((o) => estimates[o] === estimates[e])]))
    return { order, ranks }
  }

  return {
    ...payload,
    evaluators,
    board,
    units,
    tests,
    groups: payload.groups.map((groups) => groupsOf(groups, board, units)),
    byName: new Map(evaluators.flatMap(({ name, label }, e) => [[label, e], [name, e]])),
    kinds: [...new Map(evaluators.map((e) => [e.kind, e.kindTitle]))],
    key,
    cell,
    ranking,
    testsOf: (view) => tests.find((t) => key(t.view) === key(view)) ?? null,
    peopleOf: (view) => people.filter((p) => key(p.view) === key(view) && p.estimate != null),
  }
}

/** Groups with the columns of units and the dimensions of the board that they name. */
function groupsOf(groups, board, units) {
  const dimension = (name) => board.dimensions.find((d) => d.name === name)
  return {
    ...groups,
    keys: groups.keys.map((name) => units.columns.find((c) => c.name === name)),
    at: Object.fromEntries(Object.entries(groups.at).map(([name, value]) => [dimension(name).param, value])),
    columns: groups.columns.map((c) => ({ ...c, dimensions: c.dimensions.map(dimension) })),
  }
}

/** Units: a value of a column, the truth, a score and its status by position. */
function unitsOf(units, board) {
  const ok = units.statusNames.indexOf('ok')
  const at = ({ values, codes }, u) => (codes[u] < 0 ? null : values[codes[u]])
  const columns = units.columns.map((c) => ({ ...c, id: `key.${c.name}` }))
  const dimension = board.dimensions.find(({ name }) => name === units.dimension)
  const failures = once((e, a) => {
    const { unit, status } = units.statuses[e][a]
    return new Map(unit.map((u, i) => [u, units.statusNames[status[i]]]))
  })
  return {
    ...units,
    columns,
    keys: columns.filter((c) => c.key),
    heading: columns.find(({ name }) => name === units.heading),
    compared: columns.find(({ name }) => name === units.compared),
    dimension,
    overAll: dimension ? `all ${dimension.plural}` : 'all that is rated',
    rows: Array.from({ length: units.shown }, (_, u) => ({ u })),
    value: at,
    text: (part, u) => (part && part.texts[u] >= 0 ? units.texts[part.texts[u]] : ''),
    truthOf: (a, u) => at(units.truth[a], u),
    scoreOf: (e, a, u) => at(units.scores[e][a], u),
    statusOf: (e, a, u) => failures(e, a).get(u) ?? units.statusNames[ok] ?? 'ok',
  }
}
