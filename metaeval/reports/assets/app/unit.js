// One unit: its texts, the truth and every evaluator's scores, and what judges were asked and answered.

function UnitPage({ study, params }) {
  const { found } = useUnits(study, params, PAGE)
  const { units } = study
  const u = Number(params.unit)
  if (!(u in units.rows))
    return html`<section><h2 tabindex="-1">No such unit</h2>
      <p>The address names unit ${params.unit ?? 'none'}; here are <a href=${hrefOf('units')}>all units</a>.</p>
    </section>`
  const place = found.ordered.findIndex((row) => row.u === u)
  const total = count(found.ordered.length)
  const list = { ...params, unit: undefined, page: place < 0 ? undefined : Math.floor(place / PAGE) + 1 }
  const beside = (to, title) => {
    const row = place < 0 ? undefined : found.ordered[to]
    return row ? html`<a href=${unitHref(params, row.u)}>${title}</a>` : html`<span>${title}</span>`
  }
  const others = othersOf(units, u)
  const other = others.find((v) => units.value(units.compared, v) === params.beside)
  const all = other === undefined && params.beside === ALL
  const a = ratedOf(study, params)
  const among = (v) => ({
    u: v,
    a,
    title: v === u ? units.value(units.compared, v) : html`<a href=${unitHref(params, v)}>${units.value(units.compared, v)}</a>`,
  })
  const title = units.heading && units.value(units.heading, u)
  return html`<section class="unit">
    <nav class="steps" aria-label="Units of the list">
      ${beside(place - 1, '‹ previous unit')}
      <span>${place < 0 ? 'not in the list' : `unit ${count(place + 1)} of ${total}`}</span>
      ${beside(place + 1, 'next unit ›')}
      <a href=${hrefOf('units', list)}>back to the list</a>
    </nav>
    <h2 tabindex="-1">${title ? html`<${Words}>${title}</${Words}>` : `Unit ${count(u + 1)}`}</h2>
    <dl class="keys">
      ${units.keys.map((key) => html`<div key=${key.id}><dt>${key.title}</dt>
        <dd><${Words}>${units.value(key, u)}</${Words}></dd></div>`)}
    </dl>
    ${
      others.length > 0 &&
      html`<div class="controls"><${Select} label=${`Beside ${units.value(units.compared, u)}`}
        value=${other === undefined && !all ? '' : params.beside}
        options=${[['', 'nothing'], [ALL, `all ${others.length}: their scores`], ...others.map((o) => [o, o].map((v) => units.value(units.compared, v)))]}
        onChange=${(beside) => go('unit', { ...params, beside })} /></div>`
    }
    ${
      other !== undefined &&
      html`<div class="versus">${[u, other].map((v) => html`<section key=${v}>
        <h3><${Words}>${units.value(units.compared, v)}</${Words}></h3>
        <${UnitTexts} units=${units} u=${v} />
        <${UnitScores} study=${study} columns=${ratedColumns(units, v)} chosen=${params.evaluator} />
      </section>`)}</div>`
    }
    ${
      all &&
      html`<${UnitScores} study=${study} chosen=${params.evaluator} columns=${[u, ...others].map(among)}
        title=${`Truth and scores, ${units.rated[a].name}: all of this ${listed(units.keys.filter((k) => k !== units.compared).map((k) => k.title))}`} />`
    }
    <div class="unit-body">
      ${
        other === undefined &&
        html`<${UnitTexts} key=${u} units=${units} u=${u} />
        ${!all && html`<${UnitScores} study=${study} columns=${ratedColumns(units, u)} chosen=${params.evaluator} />`}`
      }
      <${UnitCalls} study=${study} u=${u} chosen=${params.evaluator} />
    </div>
  </section>`
}

/** What stands beside a unit, where it is no single one. */
const ALL = 'all'

/** Units of which all keys but the compared one are the same: what others wrote for the same user and item. */
function othersOf({ compared, keys, rows }, u) {
  const shared = keys.filter((key) => key !== compared)
  if (!compared || !shared.length) return []
  return rows.map((row) => row.u).filter((v) => v !== u && shared.every(({ codes }) => codes[v] === codes[u]))
}

/** The parts of a unit, one below the other or side by side; of the first it is said if there is none. */
function UnitTexts({ units, u }) {
  const parts = units.parts.map((part, i) => ({ ...part, i, text: units.text(part, u) }))
  const there = parts.filter(({ i, texts }) => i === 0 || texts[u] >= 0)
  const rows = []
  for (const part of there) {
    if (part.beside && rows.length) rows.at(-1).push(part)
    else rows.push([part])
  }
  return html`<div>${rows.map((row) => html`<div key=${row[0].i} class="beside">${row.map(
    ({ i, title, texts, text }) => html`<div key=${i}>
      <h3><${Words}>${capital(title)}</${Words}></h3>
      ${texts[u] < 0 && html`<p class="note">The data set has no text of this unit.</p>`}
      ${texts[u] >= 0 && !text.trim() && html`<p class="note">The text is empty.</p>`}
      ${texts[u] >= 0 && html`<${LongText} text=${text} what=${`the ${title}`} />`}
    </div>`,
  )}</div>`)}</div>`
}

/** A column for each thing that a unit is rated for. */
const ratedColumns = ({ rated }, u) => rated.map(({ name, statement }, a) => ({ u, a, title: name, hint: statement }))

/** The truth first, then the evaluators; a word where there is no score. */
function UnitScores({ study, columns, chosen, title = 'Truth and scores' }) {
  const { units, evaluators } = study
  const cell = (e, { u, a }) => {
    const given = units.scoreOf(e, a, u)
    const status = units.statusOf(e, a, u)
    if (given === null) return html`<td class="status">${status}</td>`
    const within = study.within?.[evaluators[e].name]?.[units.rated[a].name]
    return html`<td>${score(given)}${within !== undefined && html` <span class="note">± ${score(within)}</span>`}</td>`
  }
  return html`<div class="unit-scores"><h3>${title}</h3>
    <${Wide} label=${title}><table class="scores">
      <caption class="hidden">${title} of this unit</caption>
      <thead><tr><th scope="col" class="text">evaluator</th>
        ${columns.map(({ title, hint }, i) => html`<th scope="col" key=${i} title=${hint || undefined}>${title}</th>`)}</tr></thead>
      <tbody>
        <tr class="truth">
          <th scope="row" class="text evaluator">truth: <${Words}>${study.truth}</${Words}></th>
          ${columns.map(({ u, a }, i) => html`<td key=${i}>${score(units.truthOf(a, u))}</td>`)}</tr>
        ${evaluators.map(
          (evaluator, e) => html`<tr key=${e} class=${evaluator.name === chosen ? 'chosen' : ''}>
          <th scope="row" class="text evaluator"><${Evaluator} evaluator=${evaluator} />
            ${evaluator.name === chosen && html`<span class="hidden"> (chosen)</span>`}</th>
          ${columns.map((column) => cell(e, column))}</tr>`,
        )}
      </tbody>
    </table></${Wide}>
    ${study.within && html`<p class="note">90 % of the ratings by new people lie within ± (calibration).</p>`}</div>`
}
