// What the words of the tables mean, for who reads them for the first time.

/** Folded below tables and figures; in print it is open. */
const Glossary = ({ study }) =>
  study.glossary.length > 0 &&
  html`<details class="call">
    <summary>What the words mean</summary>
    <${Facts} facts=${study.glossary} />
  </details>`
