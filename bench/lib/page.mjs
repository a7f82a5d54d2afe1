/** The texts that are made of the results: the table of the README, and the page of all figures with its plots. */
import { barChart, growthPlot, names } from './chart.mjs'
import { tables } from './growth-tables.mjs'
import { wires } from './wire.mjs'

const peers = ['ai-sdk', 'tanstack-ai', 'langchain', 'openai-agents', 'pi-ai']

/** The clients of the vendors, by wire. */
const vendors = {
  'openai-chat': 'openai-sdk',
  'openai-responses': 'openai-sdk',
  anthropic: 'anthropic-sdk',
  gemini: 'google-sdk',
}

const ratio = ({ ratio: { median } }) => String(median)
const median = (figure) => String(figure.median)

const wireNames = {
  'openai-chat': 'OpenAI chat',
  'openai-responses': 'OpenAI Responses',
  anthropic: 'Anthropic',
  gemini: 'Gemini',
}

/** The rows over HTTP, the same words in both tables. */
const httpRows = {
  paced: 'CPU for a delta, each in its own packet',
  burst: 'CPU for a delta in a burst',
  'short call, 3 deltas': 'CPU for a whole call of 3 deltas',
  'short call, 50 deltas': 'CPU for a whole call of 50 deltas',
  'first delta': 'time from the byte to the first delta',
}

/** The newest Node of a run, on which all contestants run. */
const newest = ({ environment }) =>
  Math.max(...environment.nodes.map((version) => Number(/\d+/.exec(version)[0])))

/** A table of Markdown, padded as the formatter does it. */
function table(lines) {
  const widths = lines[0].map((_, column) =>
    Math.max(3, ...lines.map((line) => line[column].length)),
  )
  const row = (line) => `| ${line.map((text, column) => text.padEnd(widths[column])).join(' | ')} |`
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return [row(lines[0]), rule, ...lines.slice(1).map(row)].join('\n')
}

const cellOf = (row, id, show) => (row?.[id] === undefined ? '–' : show(row[id]))

/** The block of the README: a chart and one table. */
export function readmeBlock(results) {
  const { sections, versions, environment } = results
  const major = newest(results)
  const http = (name, wire) => ['http', `${name}, ${wire}, Node ${major}`, ratio, vendors[wire]]
  const rows = [
    [`${httpRows.paced}, OpenAI chat (× raw \`fetch\`)`, ...http('paced', 'openai-chat')],
    ['the same, Anthropic', ...http('paced', 'anthropic')],
    ['in a burst, OpenAI chat', ...http('burst', 'openai-chat')],
    ['a whole call of 3 deltas, OpenAI chat', ...http('short call, 3 deltas', 'openai-chat')],
    ['first delta after its byte, OpenAI chat', ...http('first delta', 'openai-chat')],
    [
      'promises made for one delta',
      'promises',
      'a delta, OpenAI chat',
      ({ promises }) => `${promises}`,
      'openai-sdk',
    ],
    ["one call on the library's own fake, CPU µs", 'calls', 'CPU, µs', median],
    ['the same, KiB allocated', 'calls', 'allocated, KiB', median],
    ['tool loop, streamed, CPU µs a step', 'tools', 'a step of 10, streamed', median],
    [
      '32 tool calls at once, streamed, CPU µs a call',
      'tools',
      'a call of 32 at once, streamed',
      median,
    ],
    [
      'a fragment of tool arguments, the 16 000th ÷ the 250th',
      'arguments',
      'openai-chat',
      ({ growth: more }) => `${more}`,
      'openai-sdk',
    ],
    [
      '"stream text from OpenAI", minified and gzipped, kB',
      'size',
      '"stream text from OpenAI", minified, gzip, kB',
      ({ kb }) => `${kb}`,
      'openai-sdk',
    ],
    [
      '"chat with a tool", minified and gzipped, kB',
      'size',
      '"chat with a tool", minified, gzip, kB',
      ({ kb }) => `${kb}`,
    ],
    [
      'import, × an empty Node program',
      'size',
      'cold import, × an empty program',
      ratio,
      'openai-sdk',
    ],
  ]
  const columns = [
    'allm-ts',
    "vendor's client",
    `AI SDK ${versions.ai}`,
    `TanStack AI ${versions['@tanstack/ai']}`,
    `LangChain core ${versions['@langchain/core']}`,
    `OpenAI Agents ${versions['@openai/agents']}`,
    `pi-ai ${versions['@mariozechner/pi-ai']}`,
  ]
  const lines = rows
    .filter(([, section, row]) => sections[section]?.figures[row] !== undefined)
    .map(([name, section, row, show, vendor]) => {
      const figures = sections[section].figures[row]
      return [name, ...['allm', vendor, ...peers].map((id) => cellOf(figures, id, show))]
    })
  return `
![CPU for one streamed text delta, as a multiple of raw fetch](docs/bench/chart.svg)

${table([['', ...columns], ...lines])}

Measured on ${environment.date} with Node ${environment.nodes.join(' and ')} on ${environment.processors} cores; this table is of Node ${major}. All rows, all four APIs, both Nodes and how the costs grow: [docs/bench](docs/bench/README.md).
TanStack AI ships no fake: a minimal adapter of its own interface stands in for one. pi-ai's loop only streams.
`
}

/** The page of all figures. */
export function pageOf(results) {
  const { sections, environment } = results
  const parts = [
    '# What it costs',
    `Measured on ${environment.date} with Node ${environment.nodes.join(' and ')} on ${environment.processors} cores by \`npm run bench\`, which also writes this page. Medians of interleaved rounds, with the inter-quartile range in brackets; every figure is in \`docs/bench/results.json\`. How it is measured is in [bench](../../bench/README.md). The ratios can be trusted, absolute times depend on the machine.`,
  ]
  if (sections.http !== undefined) parts.push(...httpParts(results))
  for (const [id, { title, figures }] of Object.entries(sections)) {
    if (['http', 'growth'].includes(id)) continue
    parts.push(`## ${title}`, figureTable(figures))
  }
  if (sections.growth !== undefined) parts.push(...growthParts(results))
  return `${parts.join('\n\n')}\n`
}

function httpParts({ sections, environment }) {
  const { figures } = sections.http
  const majors = environment.nodes.map((version) => /\d+/.exec(version)[0])
  const parts = [
    '## Over HTTP, × raw `fetch` + split + `JSON.parse`',
    'Each figure is a multiple of the floor on the same Node: a raw `fetch`, an SSE parser and `JSON.parse`. _Its own packet_: the provider waits a millisecond between two deltas, so every read has one, as with a real model. _A burst_: all deltas at once; the kernel joins them, so a read has many, however they are written. _A whole call_: the request, the response and its few deltas in one write. _First delta_: the time from the byte on the socket to the consumer; the others are CPU time. A library that needs a newer Node is left out on the older one.',
    '![CPU for one streamed text delta, as a multiple of raw fetch](chart.svg)',
  ]
  for (const major of majors) {
    for (const [row, name] of Object.entries(httpRows)) {
      const rows = wires
        .map((wire) => [wire, figures[`${row}, ${wire}, Node ${major}`]])
        .filter(([, found]) => found !== undefined)
      const show = ({ ratio: { median: middle, from, to } }) => `${middle} (${from}–${to})`
      const lines = rows.map(([wire, found]) => [
        wireNames[wire],
        ...['allm', vendors[wire], ...peers].map((id) => cellOf(found, id, show)),
        readsOf(found),
      ])
      const columns = ['allm', 'vendor', ...peers].map((id) => names[id] ?? "vendor's client")
      parts.push(`### ${name}, Node ${major}`, table([['', ...columns, 'deltas a read'], ...lines]))
    }
  }
  return parts
}

const readsOf = ({ allm }) => (allm?.deltasPerRead === undefined ? '–' : String(allm.deltasPerRead))

/** Any other section: a row for each thing, or a list of our own figures. */
function figureTable(figures) {
  const rows = Object.entries(figures)
  if (rows.length === 1 && rows[0][0] === 'allm') {
    const lines = Object.entries(rows[0][1]).map(([name, value]) => [
      name,
      String(typeof value === 'object' ? value.median : value),
    ])
    return table([['', 'allm-ts'], ...lines])
  }
  const ids = Object.keys(names).filter((id) => rows.some(([, row]) => row[id] !== undefined))
  const lines = rows.map(([name, row]) => [name, ...ids.map((id) => cellOf(row, id, figureText))])
  return table([['', ...ids.map((id) => names[id])], ...lines])
}

function figureText({ promises, kb, growth: more, ratio: found, median: middle, from, to }) {
  if (found !== undefined) return `${found.median} (${found.from}–${found.to})`
  if (middle !== undefined) return `${middle} (${from}–${to})`
  return String(promises ?? kb ?? more)
}

function growthParts({ sections }) {
  const { figures } = sections.growth
  const parts = [
    '## How costs grow',
    'Time for one unit by size, on the Node of the project. A line that stays level is linear growth; one that falls has a fixed cost that more units share. A request has to be checked and rendered whole, so a step costs more behind a longer thread; a save writes the whole session.',
  ]
  for (const [id, head] of Object.entries(tables)) {
    const rows = seriesOf(figures, id)
    if (Object.keys(rows).length === 0) continue
    const sizes = [...new Set(Object.values(rows).flatMap((row) => Object.keys(row)))]
    const lines = Object.entries(rows).map(([name, row]) => [
      name,
      ...sizes.map((size) => cellOf(row, size, median)),
    ])
    parts.push(
      `### ${head.title}, ${head.unit}`,
      `![${head.title}, ${head.unit} by ${head.size}](growth-${id}.svg)`,
      table([[head.size, ...sizes.map((size) => Number(size).toLocaleString('en-US'))], ...lines]),
    )
  }
  return parts
}

function seriesOf(figures, id) {
  const own = Object.entries(figures).filter(([name]) => name.startsWith(`${id}: `))
  return Object.fromEntries(own.map(([name, row]) => [name.slice(id.length + 2), row]))
}

/** The files of the plots by name. */
export function plotsOf(results) {
  const { sections } = results
  const plots = {}
  const major = newest(results)
  const row = sections.http?.figures[`paced, openai-chat, Node ${major}`]
  if (row !== undefined) {
    plots['chart.svg'] = barChart(
      'CPU for one streamed text delta, × raw fetch + SSE + JSON.parse',
      row,
      `OpenAI chat over loopback, each delta in its own packet; Node ${major}, medians of rounds`,
    )
  }
  for (const [id, head] of Object.entries(tables)) {
    const rows = seriesOf(sections.growth?.figures ?? {}, id)
    if (Object.keys(rows).length > 0) plots[`growth-${id}.svg`] = growthPlot(head, rows)
  }
  return plots
}
