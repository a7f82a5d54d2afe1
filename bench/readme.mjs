/** Writes the table of the README from `docs/bench/results.json`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const { sections, versions, environment } = JSON.parse(
  readFileSync(resolve(root, 'docs/bench/results.json'), 'utf8'),
)

const columns = {
  allm: 'allm-ts',
  'ai-sdk': `AI SDK ${versions.ai}`,
  'tanstack-ai': `TanStack AI ${versions['@tanstack/ai']}`,
  langchain: `LangChain core ${versions['@langchain/core']}`,
  'openai-agents': `OpenAI Agents ${versions['@openai/agents']}`,
  'pi-ai': `pi-ai ${versions['@mariozechner/pi-ai']}`,
}

const ratio = ({ ratio: { median } }) => String(median)
const median = (figure) => String(figure.median)
const rows = [
  [
    'CPU for one text delta, OpenAI chat, one event a write (× raw `fetch` + split + `JSON.parse`)',
    'deltas',
    'openai-chat, 1 a write',
    ratio,
  ],
  ['the same, 64 events a write', 'deltas', 'openai-chat, 64 a write', ratio],
  ['the same, Anthropic, one event a write', 'deltas', 'anthropic, 1 a write', ratio],
  [
    'promises made for one delta',
    'promises',
    'a delta, OpenAI chat',
    ({ promises }) => `${promises}`,
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
    ({ growth }) => `${growth}`,
  ],
  ['first delta after its byte (× raw `fetch`)', 'latency', 'openai-chat', ratio],
  [
    '"stream text from OpenAI", minified and gzipped, kB',
    'size',
    '"stream text from OpenAI", minified, gzip, kB',
    ({ kb }) => `${kb}`,
  ],
  ['import, × an empty Node program', 'size', 'cold import, × an empty program', ratio],
]

const measured = rows.filter(([, section]) => sections[section] !== undefined)

const line = (cells) => `| ${cells.join(' | ')} |`
const table = [
  line(['', ...Object.values(columns)]),
  line(['---', ...Object.keys(columns).map(() => '---')]),
  ...measured.map(([name, section, row, show]) => {
    const figures = sections[section].figures[row]
    const cells = Object.keys(columns).map((id) =>
      figures[id] === undefined ? '–' : show(figures[id]),
    )
    return line([name, ...cells])
  }),
]

const block = `
![CPU for one streamed text delta, as a multiple of raw fetch](docs/bench/chart.svg)

${table.join('\n')}

Measured on ${environment.date} with Node ${environment.node} on ${environment.processors} cores; every figure with its spread is in \`docs/bench/results.json\`.
TanStack AI ships no fake: a minimal adapter of its own interface stands in for one. pi-ai's loop only streams.
`
const [start, end] = ['<!-- bench:start -->', '<!-- bench:end -->']
const file = resolve(root, 'README.md')
const readme = readFileSync(file, 'utf8')
const [before, rest] = readme.split(start)
writeFileSync(file, `${before}${start}\n${block}\n${end}${rest.split(end)[1]}`)
