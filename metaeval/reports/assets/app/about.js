// What the numbers depend on: data, truth, policy, versions, and each evaluator's signature.

function Facts({ facts }) {
  return html`<dl class="facts">${facts
    .filter(([, value]) => value !== '' && value != null)
    .map(
      ([name, value]) => html`<div key=${name}>
    <dt>${name}</dt><dd><${Words}>${value}</${Words}></dd></div>`,
    )}</dl>`
}

function Signature({ evaluator }) {
  const { spec, kindTitle, statuses, signature } = evaluator
  const scores = Object.entries(statuses).filter(([, n]) => n > 0)
  const facts = [
    ['Spec', spec],
    ['Kind', kindTitle],
    ['Scores of all units', scores.map(([status, n]) => `${status} ${count(n)}`).join(' · ')],
  ]
  return html`<details class="call">
    <summary><${Evaluator} evaluator=${evaluator} /></summary>
    <${Facts} facts=${facts} />
    <pre class="words" tabindex="0">${JSON.stringify(signature, null, 2)}</pre>
  </details>`
}

function About({ study }) {
  return html`<section class="about">
    <h2 tabindex="-1">About</h2>
    <${Facts} facts=${[...study.facts, ['Version of metaeval', study.metaeval]]} />
    <h3>What raters saw</h3>
    <${Facts} facts=${study.units.rated.map(({ name, statement }) => [name, statement || 'nothing is stated'])} />
    <h3>Missing scores and undefined groups</h3>
    <ul>${study.policy.map((sentence) => html`<li key=${sentence}>${sentence}</li>`)}</ul>
    <div class="signatures"><h3>What the scores depend on</h3>
    ${study.evaluators.map((evaluator) => html`<${Signature} key=${evaluator.name} evaluator=${evaluator} />`)}</div>
    <div class="licences">
      <h3>What this page is made with</h3>
      <details class="call">
        <summary>Licences of the libraries inside it</summary>
        <pre class="words" tabindex="0">${document.getElementById('licences').textContent}</pre>
      </details>
    </div>
  </section>`
}
