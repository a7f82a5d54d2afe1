import { parseArgs, type ParseArgsConfig } from 'node:util'
import { nearest } from '../../core/schema/checks.ts'
import { chatCommand } from './chat.ts'
import {
  packageVersion,
  CliError,
  exitCodes,
  usageError,
  type Command,
  type CommandCall,
  type OptionSpecs,
} from './command.ts'
import { describeError } from './describe-error.ts'
import { doctorCommand } from './doctor.ts'
import { commandHelp, helpOption, helpPage, programHelp } from './help.ts'
import { inspectCommand } from './inspect.ts'
import { say, type Io } from './io.ts'
import { testCommand } from './make-test.ts'
import { mcpServeCommand } from './mcp-serve.ts'
import { newAdapterCommand } from './new-adapter.ts'
import { recordCommand } from './record.ts'
import { replayCommand } from './replay.ts'
import { runCommand } from './run.ts'
import { serveCommand } from './serve.ts'
import { sessionShowCommand } from './session-show.ts'
import { tourCommand } from './tour.ts'

/** Runs the program and returns its exit code. It never rejects: an error is one line on stderr. */
export async function runProgram(io: Io): Promise<number> {
  try {
    return await dispatch(io)
  } catch (error) {
    say(io.stderr, `allm-ts: ${describeError(error, io.env)}\n`)
    return error instanceof CliError ? error.exitCode : exitCodes.failed
  }
}

async function dispatch(io: Io): Promise<number> {
  const [first, ...rest] = io.argv
  if (first === undefined) {
    io.stderr.write(programHelp(commands, helpPage(io.stderr, io.env)))
    return exitCodes.usage
  }
  if (first === '--help' || first === '-h') return print(io, helpOn([], io))
  if (first === '--version' || first === '-v') return print(io, `${packageVersion()}\n`)
  if (first === 'help') return print(io, helpOn(rest, io))
  const isFamily = familyOf(first).length > 0
  if (isFamily && (rest[0] === '--help' || rest[0] === '-h')) return print(io, helpOn([first], io))
  const { command, args } = findCommand(io.argv)
  // What follows -- is for another program.
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
  if (own.includes('--help') || own.includes('-h'))
    return print(io, commandHelp(command, helpPage(io.stdout, io.env)))
  return command.run(parseCommandLine(command, args, io))
}

function print(io: Io, text: string): number {
  io.stdout.write(text)
  return exitCodes.ok
}

function helpOn(words: readonly string[], { stdout, env }: Io): string {
  const page = helpPage(stdout, env)
  const [first, second] = words
  if (first === undefined) return programHelp(commands, page)
  const family = second === undefined ? familyOf(first) : []
  const named = family.length > 0 ? family : [findCommand(words).command]
  return named.map((command) => commandHelp(command, page)).join('\n')
}

/** The commands whose names begin with a word, such as `session show`. */
function familyOf(word: string): readonly Command[] {
  return commands.filter(({ name }) => name.startsWith(`${word} `))
}

interface Found {
  readonly command: Command
  readonly args: readonly string[]
}

function findCommand(argv: readonly string[]): Found {
  for (const command of commands) {
    const words = command.name.split(' ')
    if (words.every((word, index) => argv[index] === word)) {
      return { command, args: argv.slice(words.length) }
    }
  }
  throw unknownCommand(argv)
}

function unknownCommand([first = '', second]: readonly string[]): CliError {
  const names = commands.map(({ name }) => name)
  const family = familyOf(first)
  if (family.length > 0) {
    const given = second === undefined ? first : `${first} ${second}`
    const there = family.map(({ name }) => name).join(', ')
    return usageError(`there is no command ${given}; there is ${there}`)
  }
  const near = nearest(first, names)
  const advice = near === undefined ? `there are ${names.join(', ')}` : `did you mean ${near}?`
  return usageError(`there is no command ${first}; ${advice}`)
}

/** Every command, in the order in which the help lists them. */
export const commands: readonly Command[] = [
  tourCommand,
  chatCommand,
  runCommand,
  serveCommand,
  recordCommand,
  replayCommand,
  testCommand,
  inspectCommand,
  sessionShowCommand,
  doctorCommand,
  mcpServeCommand,
  newAdapterCommand,
]

/** Parses the arguments of a command. A mistake is a usage error that names the option that was probably meant. */
function parseCommandLine(command: Command, args: readonly string[], io: Io): CommandCall {
  const { values, positionals } = parse(command, args)
  const [least, most] = command.positionals
  if (positionals.length < least) {
    throw usageError(
      `${command.name} needs ${command.synopsis.split(' [')[0]}; ${seeHelp(command)}`,
    )
  }
  if (positionals.length > most) {
    throw usageError(`${command.name} has no argument ${positionals[most]}; ${seeHelp(command)}`)
  }
  return {
    io,
    positionals,
    text: (name) => {
      const value = values[name]
      return isSomeText(value) ? value : undefined
    },
    texts: (name) => [values[name]].flat().filter(isSomeText),
    flag: (name) => values[name] === true,
  }
}

function isSomeText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

interface Parsed {
  readonly values: Readonly<Record<string, unknown>>
  readonly positionals: readonly string[]
}

function parse(command: Command, args: readonly string[]): Parsed {
  const options = parserOptions(command.options)
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true })
  } catch (error) {
    throw usageError(`${problemOf(command, error)}; ${seeHelp(command)}`)
  }
}

function parserOptions(specs: OptionSpecs): NonNullable<ParseArgsConfig['options']> {
  return Object.fromEntries(
    Object.entries({ ...specs, help: helpOption }).map(([name, { value, short, isList }]) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        ...(short === undefined ? {} : { short }),
        ...(isList === undefined ? {} : { multiple: isList }),
      },
    ]),
  )
}

function problemOf(command: Command, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const unknown = /^Unknown option '(-{1,2}[^']+)'/.exec(message)?.[1]
  if (unknown === undefined) return `${command.name}: ${message.split(/\.\s/)[0]}`
  const near = nearest(unknown.replace(/^-+/, ''), [...Object.keys(command.options), 'help'])
  const advice = near === undefined ? '' : `; did you mean --${near}?`
  return `${command.name} has no option ${unknown}${advice}`
}

function seeHelp({ name }: Command): string {
  return `see npx allm-ts ${name} --help`
}
