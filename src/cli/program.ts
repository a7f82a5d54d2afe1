import { CliError, usageError } from './cli-error.ts'
import type { Command } from './command.ts'
import { commands } from './commands.ts'
import { describeError } from './describe-error.ts'
import { exitCodes } from './exit-codes.ts'
import { commandHelp, programHelp } from './help.ts'
import type { Io } from './io.ts'
import { parseCommandLine } from './parse-command-line.ts'
import { packageVersion } from './version.ts'
import { nearest } from '../schema/checks.ts'

/** Runs the program and gives its exit code. It never rejects: what goes wrong is one line on stderr. */
export async function runProgram(io: Io): Promise<number> {
  try {
    return await dispatch(io)
  } catch (error) {
    io.stderr.write(`allm: ${describeError(error, io.env)}\n`)
    return error instanceof CliError ? error.exitCode : exitCodes.failed
  }
}

async function dispatch(io: Io): Promise<number> {
  const [first, ...rest] = io.argv
  if (first === undefined) {
    io.stderr.write(programHelp(commands))
    return exitCodes.usage
  }
  if (first === '--help' || first === '-h') return print(io, programHelp(commands))
  if (first === '--version' || first === '-v') return print(io, `${packageVersion()}\n`)
  if (first === 'help') return print(io, helpOn(rest))
  const { command, args } = findCommand(io.argv)
  if (args.includes('--help') || args.includes('-h')) return print(io, commandHelp(command))
  return command.run(parseCommandLine(command, args, io))
}

function print(io: Io, text: string): number {
  io.stdout.write(text)
  return exitCodes.ok
}

function helpOn(words: readonly string[]): string {
  return words.length === 0 ? programHelp(commands) : commandHelp(findCommand(words).command)
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
  const family = names.filter((name) => name.startsWith(`${first} `))
  if (family.length > 0) {
    const said = second === undefined ? first : `${first} ${second}`
    return usageError(`there is no command ${said}; there is ${family.join(', ')}`)
  }
  const near = nearest(first, names)
  const advice = near === undefined ? `there are ${names.join(', ')}` : `did you mean ${near}?`
  return usageError(`there is no command ${first}; ${advice}`)
}
