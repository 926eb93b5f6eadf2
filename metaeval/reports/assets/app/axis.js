// The common axis of the rows of a leaderboard: intervals as bars, chance, and what people reach.

/** A round step of which a span holds at most so many. */
function stepOf(span, most) {
  const power = 10 ** Math.floor(Math.log10(span / (most - 1)))
  return [1, 2, 5, 10].map((m) => m * power).find((s) => span / s <= most)
}

/** Round steps that cover the values and chance, which is 0 or another. */
function axisOf(values, form, chance) {
  const known = values.filter((x) => x != null)
  const low = Math.min(chance, ...known)
  const high = Math.max(chance, ...known)
  const span = high - low || 1
  const step = stepOf(span, 5)
  const first = Math.floor(low / step + 1e-9)
  const last = Math.max(first + 1, Math.ceil(high / step - 1e-9))
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step)
  const [times] = scaleOf(form)
  const label = (x) => (times === 1 ? score(x) : fixed(times * x, 0))
  const width = (last - first) * step
  // With room for half a number at each end.
  const place = (x) => `${(6 + (88 * (x - first * step)) / width).toFixed(2)}%`
  return { ticks, place, label, chance }
}

/** Chance and the lines of people, behind each row. */
function Lines({ axis, people }) {
  return html`<line class="zero" x1=${axis.place(axis.chance)} x2=${axis.place(axis.chance)} y1="0" y2="100%" />
    ${people.map(
      ({ estimate }, i) => html`<line key=${i} class=${`person person-${i % 4}`} y1="0" y2="100%"
        x1=${axis.place(estimate)} x2=${axis.place(estimate)} />`,
    )}`
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** The head of the column: numbers of the axis, a name for each line. */
function AxisHead({ axis, people }) {
  return html`<span class="hidden">Interval, drawn</span>
    <svg class="axis" aria-hidden="true">
      ${people.map(({ estimate }, i) => html`<text key=${i} x=${axis.place(estimate)} y="11"
        class="letter">${i === 0 && 'people '}${people.length > 1 && LETTERS[i % 26]}</text>`)}
      ${axis.ticks.map(
        (t) => html`<text key=${t} x=${axis.place(t)} y="26">${axis.label(t)}</text>
        <line x1=${axis.place(t)} x2=${axis.place(t)} y1="30" y2="34" class="tick" />`,
      )}
    </svg>`
}

/** One row: a bar from low to high, a dot at the estimate. The numbers stand beside it. */
function Interval({ axis, people, cell }) {
  return html`<svg class="interval" aria-hidden="true">
    <${Lines} axis=${axis} people=${people} />
    ${
      cell?.low != null &&
      html`<line class="bar" x1=${axis.place(cell.low)} x2=${axis.place(cell.high)} y1="50%" y2="50%" />`
    }
    ${cell?.estimate != null && html`<circle cx=${axis.place(cell.estimate)} cy="50%" r="4" />`}
  </svg>`
}

/** What the lines are, in words. */
function AxisLegend({ board, people, intervals, chance }) {
  return html`<p class="note legend">
    ${intervals ? 'Bar: the interval; dot: the estimate' : 'Dot: the estimate'}; grey line: ${chance ? `chance (${board.print(chance)})` : 'zero'}.
    ${people.length > 0 && ' What people reach: '}
    ${people.map(
      ({ label, estimate }, i) => html`<span key=${i} class="person-label">
      <svg aria-hidden="true" class="swatch"><line class=${`person person-${i % 4}`} x1="1" x2="23" y1="6"
        y2="6" /></svg>
      ${people.length > 1 && html`<b>${LETTERS[i % 26]}</b> `}<${Words}>${label}</${Words}> (${board.print(estimate)})${i < people.length - 1 ? '; ' : '.'}
    </span>`,
    )}
  </p>`
}
