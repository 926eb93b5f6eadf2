// What a judge was asked about a unit and what it answered, word for word.

/** The replies of a judge about a unit, each with what was read from it. */
function repliesOf({ calls, units }, e, u) {
  const replies = new Map()
  calls.of[e].forEach((of, a) => {
    if (of[u] < 0) return
    const status = units.statusOf(e, a, u)
    const places = calls.replies[of[u]].samples ?? [of[u]]
    places.forEach((place, i) => {
      const which = places.length > 1 ? ` · reply ${i + 1} of ${places.length}` : ''
      const found = replies.get(place) ?? { reply: calls.replies[place], which, rated: [], statuses: new Set() }
      found.rated.push(units.rated[a].name)
      found.statuses.add(status)
      replies.set(place, found)
    })
  })
  return [...replies.values()]
}

/** More judges than these can be searched. */
const MANY_JUDGES = 3

/** One folded call below the other; those of the evaluator that the reader comes from are open. */
function UnitCalls({ study, u, chosen }) {
  const [q, setQ] = useState('')
  const [open, setOpen] = useState({ times: 0 })
  const [beside, setBeside] = useState(false)
  const all = (open) => setOpen(({ times }) => ({ all: open, times: times + 1 }))
  const judges = study.evaluators.map((_, e) => e).filter((e) => study.calls.of[e])
  if (!judges.length) return null
  const words = q.toLowerCase().split(/\s+/)
  const found = judges.filter((e) => words.every((w) => study.evaluators[e].label.toLowerCase().includes(w)))
  return html`<div class="unit-calls"><h3>What the judges were asked and answered</h3>
    <${Notes} notes=${[study.calls.note]} />
    <div class="controls" role="group" aria-label="Which calls are shown">
      ${
        judges.length > MANY_JUDGES &&
        html`<${Search} label="Search judges" value=${q} onInput=${setQ} />
        <span role="status" class="rows">${count(found.length)} of ${plural(judges.length, 'judge')}</span>`
      }
      <button type="button" onClick=${() => all(true)}>Expand all</button>
      <button type="button" onClick=${() => all(false)}>Fold all</button>
      <button type="button" aria-pressed=${beside} onClick=${() => (setBeside(!beside), all(!beside))}>Side by side</button>
    </div>
    <div class=${beside ? 'side-by-side' : ''}>
    ${found.flatMap((e) => {
      const replies = repliesOf(study, e, u)
      if (!replies.length)
        return html`<p class="note"
          key=${e}><${Words}>${study.evaluators[e].label}</${Words}>: no call about this unit.</p>`
      return replies.map(
        (
          call,
          i,
        ) => html`<${Call} key=${`${u} ${e} ${i} ${open.times}`} lines=${study.calls.lines} units=${study.units}
        evaluator=${study.evaluators[e]} open=${open.all ?? study.evaluators[e].name === chosen} ...${call} />`,
      )
    })}</div></div>`
}

function Call({ lines, evaluator, reply, which, rated, statuses, units, open }) {
  const facts = [
    ['model', reply.model],
    ['asked', reply.sent],
    ['tokens', reply.tokens.some((n) => n !== null) && listed(reply.tokens.map((n, i) => `${n === null ? 'unknown' : count(n)} of the ${['prompt', 'reply'][i]}`))],
    ['time', reply.seconds > 0 && duration(reply.seconds)],
    ['finish', reply.finish],
    ['error', reply.error],
    ['refusal', reply.refusal],
  ]
  const about = rated.length > 1 && rated.length === units.rated.length ? units.overAll : listed(rated)
  return html`<details class="call" open=${open}>
    <summary><${Evaluator} evaluator=${evaluator} /> · ${about}${which} ·
      ${[...statuses].map((status) => html` <${Status} key=${status}>${status}</${Status}>`)}</summary>
    <dl class="keys">${facts
      .filter(([, value]) => value)
      .map(
        ([name, value]) => html`<div key=${name}><dt>${name}</dt>
      <dd><${Words}>${value}</${Words}></dd></div>`,
      )}</dl>
    <h4>Reply</h4>
    ${(reply.thought || reply.thoughtTokens > 0) && html`<${Thought} reply=${reply} />`}
    ${reply.text && html`<${LongText} text=${reply.text} what="the reply" />`}
    ${!reply.text &&
      html`<p class="note">${
        reply.usedUp
          ? 'The reply spent its limit on reasoning before it answered; raise max_tokens.'
          : 'The reply holds no text.'
      }</p>`}
    ${reply.prompt.map(
      (message, i) => html`<${Fragment} key=${i}>
      <h4>Prompt: ${message.role}</h4>
      <${LongText} text=${message.lines.map((l) => lines[l]).join('\n')} what="the message" /></${Fragment}>`,
    )}
  </details>`
}

/** What the model thought before it answered, folded; only its length where the server does not show it. */
function Thought({ reply }) {
  const size = reply.thoughtTokens > 0 ? ` (${reply.thoughtTokens.toLocaleString('en')} tokens)` : ''
  if (!reply.thought) return html`<p class="note">Reasoning before the answer, not shown by the server${size}.</p>`
  return html`<details class="thought"><summary>Reasoning before the answer${size}</summary>
    <${LongText} text=${reply.thought} what="the reasoning" /></details>`
}
