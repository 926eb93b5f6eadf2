// What the words of the tables mean, for who reads them for the first time.

/** The words of the kind that choices, evaluators, tables or figures have. */
function occurring({ words, board, evaluators, sheets, figures }) {
  const drawn = figures.map(({ title, notes, columns }) => [title, notes, columns])
  const said = JSON.stringify([board, evaluators, sheets, drawn]).toLowerCase()
  return words.filter(([word]) => said.includes(word.toLowerCase()))
}

/** Folded below tables and figures; in print it is open. */
function Glossary({ study }) {
  const facts = useMemo(() => [...study.glossary, ...occurring(study)], [study])
  return html`<details class="call words-of-kind">
    <summary>What the words mean</summary>
    <${Facts} facts=${facts} />
  </details>`
}
