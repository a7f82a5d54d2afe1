// Packs the package as it would be published and compiles a small program against it, with the current TypeScript, the version
// before it, and the oldest that the README promises, libraries checked. Prints the type instantiations of each: a large increase points at a type that became too expensive.
// usage: node scripts/types-compat.mjs [REPORT]     (REPORT gets { passed, failed } as JSON)
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const compilers = ['typescript', 'typescript-6', 'typescript-5.6']

const program = `import { chat, createEngine, streamChat, textDeltas, tool, user } from 'allm-ts'
import * as anthropic from 'allm-ts/anthropic'
import * as conformance from 'allm-ts/conformance'
import * as gemini from 'allm-ts/gemini'
import * as openai from 'allm-ts/openai'
import { fake } from 'allm-ts/testing'

const schema = { type: 'object', properties: { city: { type: 'string' } } } as const
const weather = tool({ name: 'weather', description: 'The weather.', schema, handler: ({ city }) => city })
const engine = createEngine({ adapter: fake({ script: [['text', 'Sunny.']] }), tools: [weather] })
const result = await chat(engine, [user('How is the weather?')], { maxTurns: 3, approve: async () => 'run' })
export const answer: string | undefined = result.finalResponse?.outputText
for await (const text of textDeltas(streamChat(engine, result.thread))) text.trim()
for await (const event of streamChat(engine, 'And Rome?', { toolChoice: 'weather' })) {
  if (event.type === 'tool_execution_started' && event.name === 'weather') event.arguments.city?.trim()
}
export const others: readonly object[] = [anthropic, conformance, gemini, openai]
`

const tsconfig = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    lib: ['es2023', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
  },
  files: ['program.ts'],
}

const work = mkdtempSync(join(tmpdir(), 'allm-types-'))
try {
  unpack(join(work, 'node_modules/allm-ts'))
  writeFileSync(join(work, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(work, 'tsconfig.json'), JSON.stringify(tsconfig))
  const failed = compilers.filter((name) => !report(name))
  process.exitCode = failed.length === 0 ? 0 : 1
  const [file] = process.argv.slice(2)
  const counts = { passed: compilers.length - failed.length, failed: failed.length }
  if (file !== undefined) writeFileSync(file, JSON.stringify(counts))
} finally {
  rmSync(work, { recursive: true, force: true })
}

function unpack(target) {
  const options = { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }
  const [packed] = JSON.parse(
    execFileSync(
      'npm',
      ['pack', '--json', '--ignore-scripts', '--pack-destination', work],
      options,
    ),
  )
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['-xzf', join(work, packed.filename), '-C', target, '--strip-components=1'])
}

/** Compiles the program, and an empty one for comparison: the platform's own types are checked too. */
function report(name) {
  const tsc = join(root, 'node_modules', name, 'bin/tsc')
  const version = execFileSync(process.execPath, [tsc, '--version'], { encoding: 'utf8' }).trim()
  const empty = compile(tsc, 'export {}')
  const { ok, problems, instantiations } = compile(tsc, program)
  const ours = instantiations - empty.instantiations
  console.log(
    `${ok ? 'ok' : 'NOT OK'} ${version}: ${ours} instantiations of ours, ${instantiations} in all`,
  )
  if (!ok) console.log(problems)
  return ok
}

function compile(tsc, text) {
  writeFileSync(join(work, 'program.ts'), text)
  const args = [tsc, '-p', work, '--extendedDiagnostics', '--pretty', 'false']
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: work, encoding: 'utf8' })
  const figure = /^Instantiations:\s+(\d+)/m.exec(stdout)?.[1]
  return {
    ok: status === 0 && figure !== undefined,
    problems: stdout
      .split('\n')
      .filter((line) => line.includes('error'))
      .join('\n'),
    instantiations: Number(figure),
  }
}
