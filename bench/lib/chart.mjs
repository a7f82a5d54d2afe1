/** Charts as SVG. They have their own background, so they are legible on a light and on a dark page. */

export const names = {
  floor: 'raw fetch',
  allm: 'allm-ts',
  'pi-ai': 'pi-ai',
  'openai-sdk': 'openai SDK',
  'anthropic-sdk': 'Anthropic SDK',
  'google-sdk': 'Google SDK',
  langchain: 'LangChain',
  'tanstack-ai': 'TanStack AI',
  'openai-agents': 'OpenAI Agents',
  'ai-sdk': 'AI SDK',
}

const [ink, faint, line] = ['#1f2328', '#59636e', '#d1d9e0']
const colours = ['#1a7f37', '#0969da', '#bc4c00', '#8250df', '#9a6700']

function svg(width, height, title, parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="14" role="img" aria-label="${title}">
<rect width="${width}" height="${height}" rx="6" fill="#ffffff"/>
<text x="16" y="26" fill="${ink}" font-weight="600">${title}</text>
${parts.join('\n')}
</svg>
`
}

/** The ratios of one row as bars, the cheapest first. */
export function barChart(title, row, note) {
  const bars = Object.entries(row)
    .filter(([id]) => names[id] !== undefined)
    .toSorted(([, a], [, b]) => a.ratio.median - b.ratio.median)
  const longest = Math.max(...bars.map(([, { ratio }]) => ratio.median))
  const height = 64 + bars.length * 30
  return svg(720, height, title, [
    `<text x="16" y="${height - 10}" fill="${faint}" font-size="11">${note}</text>`,
    ...bars.map(([id, { ratio }], index) => bar(id, ratio.median, index, longest)),
  ])
}

function bar(id, value, index, longest) {
  const y = 42 + index * 30
  const width = Math.max(2, (value / longest) * 500)
  const colour = id === 'allm' ? '#1a7f37' : '#8c959f'
  const weight = id === 'allm' ? ' font-weight="600"' : ''
  return `<text x="140" y="${y + 15}" text-anchor="end" fill="${ink}"${weight}>${names[id]}</text>
<rect x="150" y="${y}" width="${width.toFixed(1)}" height="20" rx="2" fill="${colour}"/>
<text x="${(156 + width).toFixed(1)}" y="${y + 15}" fill="${ink}"${weight}>${value}</text>`
}

const plot = { left: 70, right: 540, top: 60, bottom: 270 }

/** The cost of one unit by size, one line for each series. Both axes are logarithmic. */
export function growthPlot({ title, unit, size, level = 'a level line is linear growth' }, series) {
  const rows = Object.entries(series).map(([name, row]) => [
    name,
    Object.entries(row).map(([at, { median }]) => [Number(at), Math.max(median, 0.001)]),
  ])
  const points = rows.flatMap(([, row]) => row)
  const sizes = [...new Set(points.map(([at]) => at))].toSorted((a, b) => a - b)
  const x = scale(sizes[0], sizes.at(-1), plot.left, plot.right)
  const [low, high] = decades(points.map(([, value]) => value))
  const y = scale(low, high, plot.bottom, plot.top)
  const ticks = ticksOf(low, high)
  return svg(720, 330, `${title}, ${unit}`, [
    ...ticks.map(
      (value) =>
        `<path d="M${plot.left} ${y(value)}H${plot.right}" stroke="${line}"/><text x="${plot.left - 8}" y="${y(value) + 5}" text-anchor="end" fill="${faint}" font-size="12">${shown(value)}</text>`,
    ),
    ...sizes.map(
      (at) =>
        `<text x="${x(at)}" y="${plot.bottom + 20}" text-anchor="middle" fill="${faint}" font-size="12">${shown(at)}</text>`,
    ),
    `<text x="${(plot.left + plot.right) / 2}" y="${plot.bottom + 44}" text-anchor="middle" fill="${faint}" font-size="12">${size} (both axes logarithmic; ${level})</text>`,
    ...rows.map(
      ([, row], index) =>
        `<polyline points="${row.map(([at, value]) => `${x(at)},${y(value)}`).join(' ')}" fill="none" stroke="${colours[index % colours.length]}" stroke-width="2.5" stroke-linejoin="round"/>`,
    ),
    ...labels(rows, y),
  ])
}

function scale(from, to, start, end) {
  const span = Math.log(to) - Math.log(from) || 1
  return (value) =>
    Number((start + ((Math.log(value) - Math.log(from)) / span) * (end - start)).toFixed(1))
}

/** The range of an axis: at least a decade, so that noise does not look like growth. */
function decades(values) {
  const [low, high] = [Math.min(...values) / 1.3, Math.max(...values) * 1.3]
  const missing = Math.sqrt(Math.max(1, 10 / (high / low)))
  return [low / missing, high * missing]
}

function ticksOf(low, high) {
  const all = []
  const steps = high / low > 300 ? [1] : [1, 2, 5]
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    all.push(...steps.map((step) => Number((step * 10 ** power).toPrecision(2))))
  }
  return all.filter((value) => value >= low && value <= high)
}

/** The name of each line and its last value, at its end. Names that would touch are moved apart. */
function labels(rows, y) {
  const placed = rows
    .map(([name, row], index) => ({ name, index, value: row.at(-1)[1] }))
    .map((label) => ({ ...label, at: y(label.value) + 5 }))
    .toSorted((a, b) => a.at - b.at)
  placed.forEach((label, index) => {
    if (index > 0) label.at = Math.max(label.at, placed[index - 1].at + 18)
  })
  placed.toReversed().forEach((label, index, reversed) => {
    const lowest = index === 0 ? plot.bottom : reversed[index - 1].at - 18
    label.at = Math.min(label.at, lowest)
  })
  return placed.map(
    ({ name, index, value, at }) =>
      `<text x="${plot.right + 10}" y="${at.toFixed(1)}" fill="${colours[index % colours.length]}" font-size="13">${name} ${shown(value)}</text>`,
  )
}

const shown = (value) => value.toLocaleString('en-US', { maximumSignificantDigits: 3 })
