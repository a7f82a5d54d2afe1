// Writes the tables and plots of docs/scale.md from docs/scale/results.json. The arithmetic is here, so that it can be read and changed.
// usage: node scripts/scale-model.mjs [--check]     (with --check it only says whether the page is up to date)
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

const folder = resolve(import.meta.dirname, '../docs')
const results = JSON.parse(readFileSync(`${folder}/scale/results.json`, 'utf8'))

/** What is assumed of a deployment. Everything else is measured. */
const assumed = {
  /** The seconds in which a model writes during one run. */
  writing: 20,
  /** How much of a processor may be used in the long run. */
  busy: 0.5,
  /** The processors of a database server. */
  serverCores: 8,
  /** Connections of one worker process: its pool and the one that listens. */
  connections: 11,
  /** What a Postgres takes without a pooler. */
  mostConnections: 400,
  /** Gigabytes of memory that a Redis may use. */
  redisGigabytes: 32,
}

/** What one run of `writing` seconds costs: the fixed part, and that of each second. */
export function costOfRun({ short, long }, writing) {
  const at = (field) => {
    const perSecond = Math.max(0, (long[field] - short[field]) / long.seconds)
    return short[field] + perSecond * writing
  }
  return {
    statements: at('statements'),
    kilobytes: at('written') / 1000,
    serverMs: at('serverMs'),
    workerMs: at('workerMs'),
  }
}

/** What servers carry with such runs. Redis has one thread. */
export function carries(cost, cores, { writing, busy }) {
  const runsPerSecond = (cores * busy * 1000) / cost.serverMs
  return {
    runsPerSecond,
    underWay: runsPerSecond * writing,
    statementsPerSecond: runsPerSecond * cost.statements,
    megabytesPerSecond: (runsPerSecond * cost.kilobytes) / 1000,
    workerCores: (runsPerSecond * cost.workerMs) / 1000 / busy,
  }
}

const colours = [
  '#1b6ca8',
  '#c0392b',
  '#2e8b57',
  '#8e44ad',
  '#d68910',
  '#16a085',
  '#7f8c8d',
  '#2c3e50',
  '#a04000',
]
const pages = {
  'scale.md': pageOf(),
  'scale/operations.svg': operationsPlot(),
  'scale/capacity.svg': capacityPlot(),
}
const isCheck = process.argv.includes('--check')
for (const [name, text] of Object.entries(pages)) {
  const path = `${folder}/${name}`
  if (!isCheck) writeFileSync(path, text)
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`docs/${name} is not what the figures give: node scripts/scale-model.mjs`)
    process.exitCode = 1
  }
}

/** The page with its tables filled in. */
function pageOf() {
  const page = readFileSync(`${folder}/scale.md`, 'utf8')
  const tables = { operations: operationsTable(), run: runTable(), capacity: capacityTable() }
  return page.replaceAll(
    /(<!-- table (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_whole, begin, name, end) => `${begin}\n${tables[name]}\n\n${end}`,
  )
}

function operationsTable() {
  const { points } = results.table
  const [empty, full] = [points[0], points.at(-1)]
  return table(
    [
      'operation',
      'ms, empty',
      `ms, ${count(full.sessions)}`,
      'times',
      'blocks, empty',
      `blocks, ${count(full.sessions)}`,
    ],
    Object.keys(full.ms).map((name) => [
      name,
      inMs(empty.ms[name]),
      inMs(full.ms[name]),
      (full.ms[name] / empty.ms[name]).toFixed(1),
      empty.blocks[name],
      full.blocks[name],
    ]),
  )
}

function runTable() {
  const rows = ['postgres', 'redis'].map((name) => {
    const { short, long } = results[name]
    const cost = costOfRun(results[name], assumed.writing)
    return [
      name === 'postgres' ? 'Postgres' : 'Redis',
      short.statements.toFixed(0),
      ((long.statements - short.statements) / long.seconds).toFixed(1),
      cost.kilobytes.toFixed(0),
      cost.serverMs.toFixed(0),
      cost.workerMs.toFixed(0),
    ]
  })
  const head = [
    'store',
    'statements of a run',
    'and each second of writing',
    'KB written',
    'ms of the server',
    'ms of a worker',
  ]
  return table(head, rows)
}

function capacityTable() {
  const rows = [
    ['one Postgres', assumed.serverCores, results.postgres],
    ['one Redis', 1, results.redis],
  ].map(([name, cores, costs]) => {
    const all = carries(costOfRun(costs, assumed.writing), cores, assumed)
    return [
      `${name}, ${cores} ${cores === 1 ? 'core' : 'cores'}`,
      all.runsPerSecond.toFixed(0),
      count(Math.round(all.underWay / 10) * 10),
      count(Math.round(all.statementsPerSecond / 10) * 10),
      all.megabytesPerSecond.toFixed(1),
      Math.ceil(all.workerCores),
    ]
  })
  const head = [
    'server',
    'runs a second',
    'runs under way',
    'statements a second',
    'MB written a second',
    'cores of workers',
  ]
  return table(head, rows)
}

/** A table with columns of equal width, numbers to the right. */
function table(head, rows) {
  const cells = [head, ...rows].map((row) => row.map(String))
  const widths = head.map((_cell, at) => Math.max(3, ...cells.map((row) => row[at].length)))
  const pad = (cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))
  const line = (row) => `| ${row.map(pad).join(' | ')} |`
  const rule = widths.map((width, at) =>
    at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  return [line(cells[0]), `| ${rule.join(' | ')} |`, ...cells.slice(1).map(line)].join('\n')
}

/** The time of each operation by the number of sessions. */
function operationsPlot() {
  const { points } = results.table
  const names = Object.keys(points[0].ms)
  const most = Math.max(...points.flatMap(({ ms }) => Object.values(ms)))
  const x = (at) => 70 + (at * 480) / (points.length - 1)
  const y = (ms) => 300 - (ms / most) * 250
  const lines = names.map((name, index) => {
    const path = points.map(({ ms }, at) => `${x(at)},${y(ms[name]).toFixed(1)}`).join(' ')
    const colour = colours[index % colours.length]
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>
<rect x="570" y="${40 + index * 24}" width="14" height="4" fill="${colour}"/><text x="590" y="${46 + index * 24}">${name}</text>`
  })
  const ticks = points.map(
    ({ sessions }, at) =>
      `<text x="${x(at)}" y="322" text-anchor="middle">${count(sessions)}</text>`,
  )
  const scale = [0, most / 2, most].map(
    (ms) => `<text x="62" y="${(y(ms) + 4).toFixed(1)}" text-anchor="end">${ms.toFixed(1)}</text>`,
  )
  return svg('Milliseconds of an operation by the sessions in the table', [
    axes(),
    ...ticks,
    ...scale,
    ...lines,
    '<text x="310" y="344" text-anchor="middle">sessions in Postgres</text>',
    '<text x="20" y="24">ms, median of 300</text>',
  ])
}

/** The runs a second that a Postgres and a Redis carry, by the seconds in which a model writes. */
function capacityPlot() {
  const seconds = [0, 5, 10, 20, 40, 60]
  const servers = [
    ['Postgres, 8 cores', assumed.serverCores, results.postgres],
    ['Redis, 1 core', 1, results.redis],
  ]
  const rates = servers.map(([, cores, costs]) =>
    seconds.map(
      (writing) => carries(costOfRun(costs, writing), cores, { ...assumed, writing }).runsPerSecond,
    ),
  )
  const most = Math.max(...rates.flat())
  const x = (at) => 70 + (at * 480) / (seconds.length - 1)
  const y = (rate) => 300 - (Math.log10(Math.max(1, rate)) / Math.log10(most)) * 250
  const lines = rates.map((line, index) => {
    const path = line.map((rate, at) => `${x(at)},${y(rate).toFixed(1)}`).join(' ')
    const colour = colours[index]
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>
<rect x="570" y="${40 + index * 24}" width="14" height="4" fill="${colour}"/><text x="590" y="${46 + index * 24}">${servers[index][0]}</text>`
  })
  const ticks = seconds.map(
    (one, at) => `<text x="${x(at)}" y="322" text-anchor="middle">${one}</text>`,
  )
  const scale = [1, 10, 100, 1000]
    .filter((rate) => rate <= most)
    .map((rate) => `<text x="62" y="${(y(rate) + 4).toFixed(1)}" text-anchor="end">${rate}</text>`)
  return svg('Runs a second by the seconds of writing in each', [
    axes(),
    ...ticks,
    ...scale,
    ...lines,
    '<text x="310" y="344" text-anchor="middle">seconds in which the model writes</text>',
    '<text x="20" y="24">runs a second, computed</text>',
  ])
}

function axes() {
  return '<path d="M70 50V300H560" fill="none" stroke="#888"/>'
}

function svg(title, parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="720" height="360" viewBox="0 0 720 360" font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="${title}">
<rect width="720" height="360" fill="#fff"/>
${parts.join('\n')}
</svg>
`
}

function count(number) {
  return number.toLocaleString('en-US')
}

function inMs(ms) {
  return ms.toFixed(2)
}
