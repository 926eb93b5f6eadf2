// What the words of the tables mean, for who reads them for the first time.

const LEVEL_MEANINGS = {
  dataset: 'one coefficient over all units',
  user: 'the mean of the coefficients within each user',
  pair: 'the mean of the coefficients within each pair of a user and an item',
  item: 'the mean of the coefficients within each item',
  generator: 'one coefficient over the means of the generators, the systems that wrote the explanations',
}

const STATUS_MEANINGS = {
  missing: 'the source has none',
  untokenizable: 'no words to compare in the text',
  example: 'shown to the judge as an example, so not scored',
  refused: 'the judge would not answer',
  unparsed: 'no score to be found in the reply',
  out_of_range: 'what the judge gave is not on the scale',
  truncated: 'the reply breaks off',
  transport: 'no reply came',
  budget: 'not asked: the budget was spent',
  'no row': 'not among the scores',
}

/** The meanings of some keys, in the order of the meanings: "key: meaning; …". */
const meanings = (of, keys) =>
  Object.keys(of)
    .filter((key) => keys.includes(key))
    .map((key) => `${key}: ${of[key]}`)
    .join('; ')

/** Folded below the leaderboard; in print it is open. */
function Glossary({ study }) {
  const { evaluators, views } = study
  const statuses = evaluators.flatMap((evaluator) => failuresOf(evaluator).map(([status]) => status))
  const costs = evaluators.some(({ usd, tokens, seconds }) => (usd ?? tokens ?? seconds) != null)
  return html`<details class="call">
    <summary>What the words mean</summary>
    <${Facts} facts=${[
      ['truth', 'the ratings that scores are compared with'],
      ['level', meanings(LEVEL_MEANINGS, views.levels)],
      ['undefined groups', 'groups of a level where truth or scores are all equal, so without a coefficient'],
      ['missing scores', 'what the evaluator should have scored in this column and did not'],
      ['not scored', statuses.length ? `over all aspects, and why. ${meanings(STATUS_MEANINGS, statuses)}` : ''],
      ['USD, tokens, seconds', costs ? 'what one explanation costs on average, all aspects together' : ''],
    ]} />
  </details>`
}
