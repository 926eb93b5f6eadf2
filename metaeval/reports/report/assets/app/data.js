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

const CELL = ['estimate', 'low', 'high', 'units', 'groups', 'undefined', 'missing', 'corrected']

/** The payload with `cell`, `testsOf`, `peopleOf`, `ranking`; a view is {aspect, level, coefficient}. */
function studyOf(payload) {
  const { views, cells, evaluators } = payload
  const key = (e, a, l, c) =>
    ((e * views.aspects.length + a) * views.levels.length + l) * views.coefficients.length + c
  const at = new Map(
    cells.evaluator.map((e, i) => [key(e, cells.aspect[i], cells.level[i], cells.coefficient[i]), i]),
  )

  const cell = (e, { aspect, level, coefficient }) => {
    const i = at.get(
      key(
        e,
        views.aspects.indexOf(aspect),
        views.levels.indexOf(level),
        views.coefficients.indexOf(coefficient),
      ),
    )
    return i === undefined ? null : Object.fromEntries(CELL.map((name) => [name, cells[name]?.[i]]))
  }
  const same = (a, b) => a.aspect === b.aspect && a.level === b.level && a.coefficient === b.coefficient

  /** Evaluators with an estimate, the best first; equals share a rank. */
  const ranking = once((aspect, level, coefficient) => {
    const estimates = evaluators.map((_, e) => cell(e, { aspect, level, coefficient })?.estimate ?? null)
    const order = estimates.map((_, e) => e).filter((e) => estimates[e] !== null)
    order.sort((a, b) => estimates[b] - estimates[a])
    const ranks = new Map(order.map((e) => [e, 1 + order.findIndex((o) => estimates[o] === estimates[e])]))
    return { order, ranks }
  })

  return {
    ...payload,
    units: unitsOf(payload.units),
    hasAverage: views.aspects.length > payload.aspects.length,
    byName: new Map(evaluators.map(({ name }, e) => [name, e])),
    kinds: [...new Map(evaluators.map((e) => [e.kind, e.kindTitle]))],
    cell,
    ranking: ({ aspect, level, coefficient }) => ranking(aspect, level, coefficient),
    testsOf: (view) => payload.tests.find((t) => same(t, view)) ?? null,
    peopleOf: (view) => payload.people.filter((p) => same(p, view) && p.estimate != null),
  }
}

/** Units: a value of a column, the truth, a score and its status by position. */
function unitsOf(units) {
  const ok = units.statusNames.indexOf('ok')
  const at = ({ values, codes }, u) => (codes[u] < 0 ? null : values[codes[u]])
  const failures = once((e, a) => {
    const { unit, status } = units.statuses[e][a]
    return new Map(unit.map((u, i) => [u, units.statusNames[status[i]]]))
  })
  return {
    ...units,
    rows: units.explanation.map((_, u) => ({ u })),
    value: (column, u) => (units.columns[column] ? at(units.columns[column], u) : null),
    text: (index) => (index < 0 ? '' : units.texts[index]),
    truthOf: (a, u) => at(units.truth[a], u),
    scoreOf: (e, a, u) => at(units.scores[e][a], u),
    statusOf: (e, a, u) => failures(e, a).get(u) ?? units.statusNames[ok] ?? 'ok',
  }
}
