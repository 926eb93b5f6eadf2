// How charts look in the page: its text colours, and series colours that follow its theme.

const INK = 'var(--ink)'
const SOFT = 'var(--soft)'
const LINE = 'var(--line)'

/** The colours that the figures are made with → the same, or others on a dark ground. */
const COLOURS = {
  '#0072b2': 'var(--series-0)',
  '#d55e00': 'var(--series-1)',
  '#009e73': 'var(--series-2)',
  '#cc79a7': 'var(--series-3)',
  '#e69f00': 'var(--series-4)',
  '#56b4e9': 'var(--series-5)',
  '#8c8c8c': 'var(--series-6)',
  '#332288': 'var(--series-7)',
  '#6b2c00': 'var(--series-8)',
  '#7766ff': 'var(--series-9)',
  '#990066': 'var(--series-10)',
  '#1a1a1a': 'var(--series-11)',
  '#222222': INK,
  '#ffffff': 'var(--paper)',
}

const CHART_CONFIG = {
  background: 'transparent',
  font: 'system-ui, sans-serif',
  axis: {
    labelColor: SOFT,
    labelFontSize: 11,
    labelLimit: 260,
    titleColor: INK,
    titleFontSize: 12,
    titleFontWeight: 'normal',
    gridColor: LINE,
    domainColor: SOFT,
    tickColor: SOFT,
  },
  legend: {
    labelColor: INK,
    labelFontSize: 11,
    labelLimit: 260,
    titleColor: INK,
    titleFontWeight: 'normal',
    symbolSize: 80,
    symbolOpacity: 1, // where lines behind the marks are faint, too
  },
  header: { labelColor: INK, labelFontSize: 12, labelLimit: 260, titleColor: INK, titleFontWeight: 'normal' },
  title: { anchor: 'start', color: INK, subtitleColor: SOFT },
  text: { color: INK },
  style: { name: { fontSize: 11, limit: 200 } },
  rule: { color: SOFT },
  tick: { color: SOFT },
  view: { stroke: null },
  mark: { color: COLOURS['#0072b2'] },
  range: { category: Object.values(COLOURS).slice(0, 12), ramp: { scheme: 'viridis' }, heatmap: { scheme: 'viridis' } },
}

/** A specification with colours of the page. Scales do not blend colours: cells have one, and are more or less opaque. */
function inTheme(spec) {
  if (Array.isArray(spec)) return spec.map(inTheme)
  if (typeof spec === 'string') return COLOURS[spec.toLowerCase()] ?? spec
  if (spec === null || typeof spec !== 'object') return spec
  return Object.fromEntries(Object.entries(spec).map(([name, value]) => [name, inTheme(value)]))
}

/** Fewer pixels than these are a phone's. */
const NARROW = 480

/** So many small multiples a row, and columns of a legend, as there is room for. */
function withRoom(spec, width) {
  const fitting = withFittingLegends(spec, width)
  if (width < NARROW && spec.width?.step) {
    // Narrow cells have no room for their numbers, and slanted labels no room beside the first column.
    const layer = spec.layer?.filter(({ mark }) => spec.width.step > 50 || (mark.type ?? mark) !== 'text')
    const upright = JSON.stringify({ ...fitting, layer }).replace(/"labelAngle":-\d+/g, '"labelAngle":-90')
    return { ...JSON.parse(upright), width: 'container', autosize: { type: 'fit-x', contains: 'padding' } }
  }
  const inner = spec.spec?.width
  if (!spec.facet || !spec.columns || typeof inner !== 'number') return fitting
  return { ...fitting, columns: Math.max(1, Math.floor(width / (inner + 50))) }
}

function withFittingLegends(part, width) {
  if (Array.isArray(part)) return part.map((p) => withFittingLegends(p, width))
  if (part === null || typeof part !== 'object') return part
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [
      name,
      name === 'legend' && value
        ? { ...value, ...legendOf(value, width) }
        : withFittingLegends(value, width),
    ]),
  )
}

function legendOf({ columns }, width) {
  if (width < NARROW)
    return { columns: 1, labelLimit: width - 90, gradientLength: Math.min(220, width - 90) }
  return columns ? { columns: Math.max(columns, Math.floor(width / 290)) } : {}
}

/** Names take no more than half of a phone's width; titles of axes end where the axis does. */
function configFor(width) {
  // Else there is a line every 40 pixels, more than there are labels.
  const axes = { axisXQuantitative: { tickCount: Math.max(4, Math.round(width / 110)), labelFlush: false } }
  if (width >= NARROW) return { ...CHART_CONFIG, ...axes }
  return {
    ...CHART_CONFIG,
    ...axes,
    axis: { ...CHART_CONFIG.axis, labelLimit: Math.round(0.5 * width) },
    axisX: { titleAnchor: 'end' },
    style: { name: { fontSize: 11, limit: Math.round(0.3 * width) } },
    legend: { ...CHART_CONFIG.legend, layout: { top: { direction: 'vertical', anchor: 'start' } } },
  }
}
