// What the words of the tables mean, for who reads them for the first time.

/** The words of the kind that choices, evaluators, tables or figures have. */
function occurring({ words, board, evaluators, sheets, figures }) {
  const drawn = figures.map(({ title, notes, columns }) => [title, notes, columns])
  const said = JSON.stringify([board, evaluators, sheets, drawn]).toLowerCase()
  return words.filter(([word]) => said.includes(word.toLowerCase()))
}

/** Signs of statistics, which stand as words of their own. */
const SIGNS = [
  ['κ', 'Cohen’s kappa: agreement on labels beyond what chance gives; 1 is all, 0 is chance'],
  ['α', 'Krippendorff’s alpha: agreement of several raters beyond chance; 1 is all, 0 is chance'],
  ['τ', 'Kendall’s tau: pairs in the same order less pairs in the other order, as a share of all'],
  ['r', 'correlation: 1 if scores rise with the truth in a line, 0 if they have nothing in common'],
  ['ω', 'winning rate: the share of people whom the judge replaces, each held against the others'],
  ['ε', 'what the judge may be worse than a person by, as people cost more'],
]

/** Those of some words that a view says as words of their own. */
function saidIn(view, facts) {
  const said = JSON.stringify(view)
  const pattern = (word) => `(?<!\\p{L})${word.replace(/[^\p{L}\p{N} ]/gu, '.')}(?!\\p{L})`
  return facts.filter(([word]) => RegExp(pattern(word), word.length > 1 ? 'iu' : 'u').test(said))
}

/** Folded below tables and figures; in print it is open. Of a `view` that is given it has what is said there. */
function Glossary({ study, view }) {
  const facts = useMemo(() => {
    const words = [...study.glossary, ...occurring(study)]
    return view ? saidIn(view, [...words, ...SIGNS]) : words
  }, [study, view])
  if (!facts.length) return null
  return html`<details class="call words-of-kind">
    <summary>What the words mean</summary>
    <${Facts} facts=${facts} />
  </details>`
}
