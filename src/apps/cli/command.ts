import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Io } from './io.ts'

/** An option of a command, as the help shows it. */
export interface OptionSpec {
  /** The placeholder of the value in the help, such as `<name>`. An option without it is a switch. */
  readonly value?: string
  readonly short?: string
  /** It may be given several times, and all its values count. Of any other option the last value counts. */
  readonly isList?: true
  readonly help: string
}

/** The options of a command, by their long names. */
export type OptionSpecs = Readonly<Record<string, OptionSpec>>

/** A parsed command line. */
export interface CommandCall {
  readonly io: Io
  readonly positionals: readonly string[]
  /** The value of an option. An empty value counts as missing. */
  readonly text: (name: string) => string | undefined
  /** All values of an option that may be given several times, without empty ones. */
  readonly texts: (name: string) => readonly string[]
  /** Whether a switch is set. */
  readonly flag: (name: string) => boolean
}

/** One command of the program. */
export interface Command {
  /** One word, or two: `session show`. */
  readonly name: string
  readonly summary: string
  /** The arguments in the help, such as `<script.json> [options]`. */
  readonly synopsis: string
  readonly options: OptionSpecs
  /** Paragraphs below the options. */
  readonly notes?: readonly string[]
  /** Command lines to copy, without the program's name, and what each does. */
  readonly examples: readonly (readonly [line: string, what: string])[]
  /** The smallest and the largest number of arguments. */
  readonly positionals: readonly [number, number]
  /** Runs the command and returns the exit code. An error that it throws is printed in one line. */
  readonly run: (call: CommandCall) => Promise<number>
}

/** Ends the program with one line on stderr and an exit code. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: number

  constructor(exitCode: number, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** The command line is wrong, or a file that it names is. */
export function usageError(message: string, cause?: unknown): CliError {
  return new CliError(exitCodes.usage, message, { cause })
}

/** The command failed. */
export function failure(message: string, cause?: unknown): CliError {
  return new CliError(exitCodes.failed, message, { cause })
}

/** The exit codes of the program. */
export const exitCodes = {
  /** Success. */
  ok: 0,
  /** The run failed: a provider refused, a script ends in an error, the disk is full. */
  failed: 1,
  /** The command line, or a file, module or key that it needs, is wrong; nothing was done. */
  usage: 2,
  /** A run, a tour or a chat was ended by Ctrl-C. What serves until Ctrl-C has then done its work, and ends with 0. */
  interrupted: 130,
} as const

/** The exit codes as the help lists them. */
export const exitCodeLines: readonly (readonly [code: string, meaning: string])[] = [
  ['0', 'done; also serve, record and inspect when Ctrl-C ends them'],
  ['1', 'the run failed; one line on stderr says why'],
  ['2', 'wrong usage or input: an option, a file, a module, a missing key; nothing was done'],
  ['130', 'a run, tour or chat was ended by Ctrl-C'],
]

/** A text as one word of a command line that a person may copy. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** An option whose value must be a whole number in a range. */
export function integerOption(
  call: CommandCall,
  name: string,
  [least, most]: readonly [number, number],
): number | undefined {
  const text = call.text(name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw usageError(`--${name} must be a whole number from ${least} to ${most}, not ${text}`)
}

/** The version of the package that this program belongs to. */
export function packageVersion(): string {
  const text = readFileSync(packagePath('package.json'), 'utf8')
  // The package's own file, whose shape is known.
  return (JSON.parse(text) as { readonly version: string }).version
}

/** A file or folder of the package. The bundle of the program is two folders inside of it, the sources are three. */
export function packagePath(path: string): string {
  const [bundled = '', source = ''] = ['../../', '../../../'].map((up) =>
    fileURLToPath(new URL(up + path, import.meta.url)),
  )
  return existsSync(bundled) ? bundled : source
}
