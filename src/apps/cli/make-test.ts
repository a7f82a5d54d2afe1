import { access } from 'node:fs/promises'
import { dirname, relative, resolve, sep } from 'node:path'
import {
  cassetteToTest,
  type CassetteTestOptions,
} from '../../testing/recording/cassette-to-test.ts'
import { exitCodes, usageError, type Command, type CommandCall } from './command.ts'
import { readCassette, writeTextFile } from './files.ts'
import { say } from './io.ts'

/** `allm-ts test`: a test of a recording. */
export const testCommand: Command = {
  name: 'test',
  summary: 'write a test that plays a cassette and asserts tool calls, statuses and the last text',
  synopsis: '<cassette.json> [options]',
  options: {
    tools: { value: '<module>', help: 'run the tools that this module exports, for real' },
    engine: {
      value: '<module>',
      help: 'run the engine that this module exports as engine, or after a #: ./agent.ts#mine',
    },
    runner: { value: '<name>', help: 'node (node:test) or vitest (node)' },
    out: {
      value: '<file>',
      short: 'o',
      help: 'the test (beside the cassette, as *.test.mjs or *.test.ts); - prints it',
    },
    force: { help: 'replace a test that exists' },
  },
  notes: [
    'Without --tools and --engine, tools answer what was recorded. With them, no call of a tool may fail, also one that failed in the recording: the test fails until the tool is mended.',
    'The tools of --tools and --engine run for real each time the test runs: what they pay is paid again. Give a module with harmless ones, or leave the option out. Calls that were denied are not run, nor those whose answer was not recorded.',
    'Node 22.18 and newer import TypeScript by themselves. With an older one, run the test of a .ts module with node --import tsx --test, or write it with --runner vitest.',
  ],
  examples: [
    ['test cassette.json', 'a test for node:test, whose tools answer what was recorded'],
    ['test cassette.json --tools ./tools.js', 'run your tools'],
    ['test cassette.json --engine ./agent.ts --runner vitest', 'run your engine, in Vitest'],
  ],
  positionals: [1, 1],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io } = call
  const [path = ''] = call.positionals
  const runner = call.text('runner') ?? 'node'
  if (runner !== 'node' && runner !== 'vitest') {
    throw usageError(`--runner must be node or vitest, not ${runner}`)
  }
  const [tools, engine] = [call.text('tools'), call.text('engine')]
  if (tools !== undefined && engine !== undefined) {
    throw usageError('--engine has its own tools: leave out --tools')
  }
  const cassette = await readCassette(path, io)
  if (cassette.calls.length === 0)
    throw usageError(`${path} has no calls, so there is nothing to test; record some`)
  const out =
    call.text('out') ?? `${path.replace(/\.json$/, '')}.test.${runner === 'node' ? 'mjs' : 'ts'}`
  const options: CassetteTestOptions = {
    runner,
    file: path === '-' ? undefined : importOf(path, out),
    tools: tools && moduleOf(tools, out),
    engine: engine && moduleOf(engine, out),
  }
  for (const name of ['tools', 'engine']) await assertModule(call.text(name), name)
  const text = cassetteToTest(cassette, options)
  if (out === '-') {
    io.stdout.write(text)
    return exitCodes.ok
  }
  if (!call.flag('force') && (await exists(out))) {
    throw usageError(`${out} exists; pass --force to replace it, or another name with --out`)
  }
  await writeTextFile(out, text)
  const command = runner === 'node' ? `node --test ${out}` : `npx vitest run ${out}`
  say(io.stdout, `${out}: run it with ${command}\n`)
  const [module] = (options.tools ?? options.engine ?? '').split('#')
  if (runner === 'node' && /\.[cm]?tsx?$/.test(module ?? '')) {
    say(
      io.stdout,
      `Node before 22.18 cannot import ${module}: run it with node --import tsx --test ${out}, or write it with --runner vitest\n`,
    )
  }
  return exitCodes.ok
}

/** A module as the test imports it: a file by its place beside the test, a package by its name. */
export function moduleOf(module: string, out: string): string {
  const [path = '', name] = module.split('#')
  const found = isFile(path) ? importOf(path, out) : path
  return name === undefined ? found : `${found}#${name}`
}

function isFile(module: string): boolean {
  return /^\.{0,2}[\\/]|^[A-Za-z]:[\\/]|\.[cm]?[jt]sx?$/.test(module)
}

/** Throws if the file of a module does not exist. */
async function assertModule(module: string | undefined, option: string): Promise<void> {
  const [path = ''] = module?.split('#') ?? []
  if (isFile(path) && !(await exists(path))) {
    throw usageError(`there is no module ${path} (--${option})`)
  }
}

/** A file as a test at another place names it. */
function importOf(path: string, out: string): string {
  const folder = out === '-' ? process.cwd() : dirname(resolve(out))
  const beside = relative(folder, resolve(path)).split(sep).join('/')
  return beside.startsWith('.') ? beside : `./${beside}`
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
