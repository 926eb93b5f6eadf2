// The board: its dimensions, and how its estimates are said and printed.

/** What is added to a title because of how numbers are printed. */
const timesOf = (form) => (form === 'hundred' ? ' × 100' : '')

/** The board with its dimensions' names in addresses; a view holds a value for each of these. */
function boardOf(board) {
  const dimensions = board.dimensions.map((d) => ({ ...d, param: `at.${d.name}` }))
  const words = (d, view) => typeset(d.values.find(({ name }) => name === view[d.param]).words)
  const fill = (text, say) => dimensions.reduce((t, d) => t.replaceAll(`{${d.name}}`, say(d)), text)
  const higherIn = (view) =>
    board.higherIsBetter && !dimensions.some((d) => d.lower.includes(view[d.param]))
  const spoken = dimensions.filter((d) => board.estimate.includes(`{${d.name}}`))
  return {
    ...board,
    dimensions,
    /** The dimensions that a table of all cells lays out. */
    columns: board.columns.map((name) => dimensions.find((d) => d.name === name)),
    higherIn,
    lowerWords: (view) => (higherIn(view) ? '' : ' (lower is better)'),
    /** What verdicts at random have; it is 0 where nothing else is said. */
    chanceIn: (view) => dimensions.map((d) => d.chance[view[d.param]]).find((x) => x !== undefined) ?? 0,
    better: (view) => (a, b) => (higherIn(view) ? b - a : a - b),
    print: (x) => printed(x, board.form),
    /** A number in a file, as its head says it. */
    inFile: (x, form) => (x == null ? x : Number((x * (timesOf(form) ? 100 : 1)).toPrecision(12))),
    viewAt: (codes) => Object.fromEntries(dimensions.map((d, i) => [d.param, d.values[codes[i]].name])),
    /** Values of a view as the choices have them. */
    listed: (view) => dimensions.map((d) => view[d.param]).join(', '),
    /** The head of a column of numbers. */
    head: (text, form, view) => fill(text, (d) => view[d.param]) + timesOf(form),
    /** What is estimated, in a caption; without what stands in columns. */
    name: (view, columns = []) =>
      capital(spoken.some((d) => columns.includes(d)) ? board.noun : fill(board.estimate, (d) => words(d, view))),
    /** Where it is estimated: a clause for each dimension but some, and how it is printed. */
    where: (view, without = []) => [
      ...dimensions.filter((d) => !spoken.includes(d) && !without.includes(d)).map((d) => words(d, view)),
      ...[timesOf(board.form).trim()].filter(Boolean),
    ],
    words,
  }
}

/** A choice for each of some dimensions. */
const DimensionChoices = ({ dimensions, view, set }) =>
  dimensions.map(
    ({ param, title, values }) => html`<${Choice} key=${param} label=${capital(title)}
      all=${values.map(({ name }) => name)} value=${view[param]} onChange=${(value) => set({ [param]: value })} />`,
  )

/** What a table holds, and against what. */
const BoardCaption = ({ study, name, where, children }) => html`<b>${name}</b>${
  study.truth && html` ${study.board.relation} <${Words}>${study.truth}</${Words}>`
}${where.map((clause) => `, ${clause}`)}${children}; ${plural(study.dataset.units, 'unit')} of <${Words}>${study.dataset.clusters}</${Words}> in all <${Simulated} loud=${study.simulated.loud} />`
