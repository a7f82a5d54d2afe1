import type { Io } from './io.ts'

/** An option of a command, as the help shows it. */
export interface OptionSpec {
  /** What stands for the value in the help, such as `<name>`; an option without it is a switch. */
  readonly value?: string
  readonly short?: string
  readonly help: string
}

/** The options of a command, by their long names. */
export type OptionSpecs = Readonly<Record<string, OptionSpec>>

/** A command line that was read. */
export interface CommandCall {
  readonly io: Io
  readonly positionals: readonly string[]
  /** The value of an option; an empty one counts as missing. */
  readonly text: (name: string) => string | undefined
  /** Whether a switch is set. */
  readonly flag: (name: string) => boolean
}

/** One command of the program. */
export interface Command {
  /** One word, or two: `session show`. */
  readonly name: string
  readonly summary: string
  /** What follows the name, such as `<script.json> [options]`. */
  readonly synopsis: string
  readonly options: OptionSpecs
  /** Paragraphs below the options. */
  readonly notes?: readonly string[]
  /** How many arguments it takes, at least and at most. */
  readonly positionals: readonly [number, number]
  /** Does it, and gives the exit code. What it throws is told in one line. */
  readonly run: (call: CommandCall) => Promise<number>
}
