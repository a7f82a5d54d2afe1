// Cases for features that only a Node-like host has: CommonJS, sockets, files and the CLI. The rest runs in main.mjs.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as imported from 'allm-ts'
import { anthropic } from 'allm-ts/anthropic'
import { runStoreCases, sessionStoreCases } from 'allm-ts/conformance'
import { gemini } from 'allm-ts/gemini'
import { cassetteFile, record, replay } from 'allm-ts/middleware'
import { openai } from 'allm-ts/openai'
import { createFakeServer } from 'allm-ts/server'
import { fileStore, sqliteStore } from 'allm-ts/stores'
import { fake } from 'allm-ts/testing'
import { same } from './check.mjs'
import { runCases } from './run-cases.mjs'

const { createEngine, generate, imageFromFile, imagePart, Session, streamGenerate, user } = imported
const require = createRequire(import.meta.url)
const entryPoints = [
  'openai',
  'anthropic',
  'gemini',
  'middleware',
  'stores',
  'runs',
  'client',
  'testing',
  'conformance',
  'server',
]
const apiKey = 'a-key-for-nothing'
const adapters = {
  openai: ({ openaiBaseUrl: baseUrl }) => openai({ baseUrl, apiKey }),
  anthropic: ({ anthropicBaseUrl: baseUrl }) => anthropic({ baseUrl, apiKey }),
  gemini: ({ geminiBaseUrl: baseUrl }) => gemini({ baseUrl, apiKey }),
}
const hello = [user('hi')]
const work = mkdtempSync(join(tmpdir(), 'allm-host-'))

/** Opens a file with the SQLite of the runtime, if it has one: Node 20 does not. */
const openDatabase = await runtimeSqlite()

const cases = {
  "require('allm-ts') returns the same exports as import": () => {
    const required = require('allm-ts')
    same(Object.keys(required).toSorted(), Object.keys(imported).toSorted())
    same(required.createEngine === imported.createEngine, true)
  },

  'every entry point can be required': () => {
    same(
      entryPoints.filter(
        (entryPoint) => Object.keys(require(`allm-ts/${entryPoint}`)).length === 0,
      ),
      [],
    )
  },

  'the version is readable': () => {
    same(require('allm-ts/package.json').name, 'allm-ts')
  },

  ...Object.fromEntries(
    Object.keys(adapters).flatMap((name) => [
      [`${name}: an answer over a socket`, () => answer(name)],
      [`${name}: a stream that is left closes its socket`, () => leave(name)],
    ]),
  ),

  'sessions are kept in files': async () => {
    const session = Session.create({ messages: hello })
    const version = await fileStore(join(work, 'sessions')).save(session)
    const loaded = await fileStore(join(work, 'sessions')).load(session.id)
    same([loaded.session, loaded.version], [session, version])
  },

  ...(openDatabase === undefined ? {} : sqliteCases(openDatabase)),

  'a recording is kept in a file': async () => {
    const path = join(work, 'cassette.json')
    const recorder = record(fake({ script: ['Kept.'] }), { sink: cassetteFile(path) })
    await generate(createEngine({ adapter: recorder }), hello)
    await recorder.saved()
    const player = replay(readFileSync(path, 'utf8'))
    same((await generate(createEngine({ adapter: player }), hello)).outputText, 'Kept.')
  },

  'an image is read from its file': async () => {
    const path = join(work, 'pixel.png')
    writeFileSync(path, new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))
    const server = await createFakeServer({ script: [['text', 'A pixel.']] })
    const engine = createEngine({ adapter: adapters.anthropic(server), model: 'any-model' })
    await generate(engine, [user([imagePart(await imageFromFile(path))])])
    same(JSON.stringify(server.requests[0].body).includes('iVBORw0KGgo='), true)
    await server.close()
  },

  'the CLI prints its tour': async () => {
    const program = join(import.meta.dirname, 'node_modules/allm-ts/dist/node/cli.js')
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'tour'], { cwd: work })
    same(stdout.includes('It is resumed from the file, and finished'), true)
  },
}

try {
  await runCases(cases)
} finally {
  rmSync(work, { recursive: true, force: true })
}

async function runtimeSqlite() {
  if (process.versions.bun !== undefined) {
    const { Database } = await import('bun:sqlite')
    return (file) => new Database(file)
  }
  const { DatabaseSync } = process.getBuiltinModule?.('node:sqlite') ?? {}
  return DatabaseSync && ((file) => new DatabaseSync(file))
}

/** The conformance of a store on the runtime's SQLite. Each conformance case is one case here. */
function sqliteCases(open) {
  const start = () => {
    const opened = []
    const file = join(mkdtempSync(join(work, 'sqlite-')), 'store.db')
    const connect = () => {
      const database = open(file)
      opened.push(database)
      return sqliteStore(database)
    }
    const close = () => opened.forEach((database) => database.close())
    return { store: connect(), reopen: connect, connect, close }
  }
  const lists = [
    [sessionStoreCases, { capabilities: ['durable'], start }],
    [runStoreCases, { capabilities: ['shared', 'own_clock'], start }],
  ]
  return Object.fromEntries(
    lists.flatMap(([list, harness]) =>
      list
        .filter(
          ({ capability }) => capability === undefined || harness.capabilities.includes(capability),
        )
        .map(({ name, run }) => [`SQLite: ${name}`, () => run(harness)]),
    ),
  )
}

async function answer(name) {
  const server = await createFakeServer({
    script: [
      ['text', 'Hello, '],
      ['text', 'Köln.'],
    ],
  })
  const engine = createEngine({ adapter: adapters[name](server), model: 'any-model' })
  same((await generate(engine, hello)).outputText, 'Hello, Köln.')
  server.assertDone()
  await server.close()
}

async function leave(name) {
  const script = [
    ['text', 'Hello, '],
    ['delay', 600_000],
    ['text', 'you.'],
  ]
  const server = await createFakeServer({ script })
  const engine = createEngine({ adapter: adapters[name](server), model: 'any-model' })
  for await (const event of streamGenerate(engine, hello)) if (event.type === 'text_delta') break
  await server.idle()
  await server.close()
}
