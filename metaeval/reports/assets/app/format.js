// Numbers as they are printed: the same digits as in the tables that metaeval writes.
const NOTHING = '—'

/** Like toFixed, but an exact tie goes to the even digit, as in Python. */
function fixed(x, digits) {
  const size = Math.abs(x)
  const [whole, rest] = size.toFixed(digits + 30).split('.')
  const tie = /^50*$/.test(rest.slice(digits)) && Number(`${whole}${rest.slice(0, digits)}`.at(-1)) % 2 === 0
  const text = tie ? (digits ? `${whole}.${rest.slice(0, digits)}` : whole) : size.toFixed(digits)
  return x < 0 && /[1-9]/.test(text) ? `-${text}` : text
}

const count = (n) => Number(fixed(n, 0)).toLocaleString('en')

function fourDigits(x) {
  if (x === 0) return '0'
  return Math.abs(x) >= 1000 ? count(x) : x.toPrecision(4)
}

function dollars(x) {
  if (Math.abs(x) >= 1000) return `${x < 0 ? '-' : ''}$${count(Math.abs(x))}`
  const decimals = x === 0 ? 2 : Math.max(2, 3 - Math.floor(Math.log10(Math.abs(x))))
  const [whole, cents] = fixed(Math.abs(x), Math.min(decimals, 20)).split('.')
  return `${x < 0 ? '-' : ''}$${whole}.${cents.replace(/0+$/, '').padEnd(2, '0')}`
}

/** Units of time, their seconds, and up to how many of them a time is said in them; then in hours. */
const TIMES = [
  ['µs', 1e-6, 999.5],
  ['ms', 1e-3, 999.5],
  ['s', 1, 59.5],
  ['min', 60, 59.5],
]

function duration(seconds) {
  if (seconds === 0) return '0 s'
  const [unit, size] = TIMES.find(([, s, most]) => Math.abs(seconds) / s < most) ?? ['h', 3600]
  const value = seconds / size
  return `${Math.abs(value) < 9.95 ? fixed(value, 1) : count(value)} ${unit}`
}

/** How numbers of a form stand on an axis: times what, and what its title adds. */
const SCALES = { hundred: [100, ' × 100'], share: [100, ' in %'] }
const scaleOf = (form) => SCALES[form] ?? [1, '']

const FORMS = {
  count,
  rank: String,
  hundred: (x) => fixed(100 * x, 2),
  share: (x) => `${fixed(100 * x, 1)} %`,
  number: fourDigits,
  hundredths: (x) => fixed(x, 2),
  decimal: (x) => fixed(x, 4),
  p: (x) => (x < 0.001 ? '< 0.001' : fixed(x, 3)),
  usd: dollars,
  seconds: duration,
}

/** A value in the form that its column names. */
function printed(value, form) {
  if (value == null) return NOTHING
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'number' && form in FORMS ? FORMS[form](value) : String(value)
}

/** A rating or a score, in no more digits than it needs: three decimals, or four digits above 1. */
const score = (x) =>
  x == null
    ? NOTHING
    : String(Number(Math.abs(x) < 1 ? x.toFixed(3) : x.toPrecision(4)) || Number(x.toPrecision(1)))

/** The beginning of a text with its lines, never cut inside a character. */
function beginning(text, most = 160) {
  const flat = text
    .slice(0, 2 * most)
    .replace(/[^\S\n]+/g, ' ')
    .replace(/\s*\n\s*/g, '\n')
    .trim()
  return flat.length <= most && text.length <= 2 * most
    ? flat
    : `${Array.from(flat).slice(0, most).join('')}…`
}
