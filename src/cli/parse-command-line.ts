import { parseArgs, type ParseArgsConfig } from 'node:util'
import { usageError } from './cli-error.ts'
import type { Command, CommandCall, OptionSpec, OptionSpecs } from './command.ts'
import type { Io } from './io.ts'
import { nearest } from '../schema/checks.ts'

/** Reads what follows a command's name. What is wrong is a usage error that names the nearest legal option. */
export function parseCommandLine(command: Command, args: readonly string[], io: Io): CommandCall {
  const { values, positionals } = parse(command, args)
  const [least, most] = command.positionals
  if (positionals.length < least) {
    throw usageError(
      `${command.name} needs ${command.synopsis.split(' [')[0]}; ${seeHelp(command)}`,
    )
  }
  if (positionals.length > most) {
    throw usageError(`${command.name} takes no ${positionals[most]}; ${seeHelp(command)}`)
  }
  return {
    io,
    positionals,
    text: (name) => {
      const value = values[name]
      return typeof value === 'string' && value !== '' ? value : undefined
    },
    flag: (name) => values[name] === true,
  }
}

/** A value that has to be a whole number in a range. */
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
    Object.entries({ ...specs, help: helpOption }).map(([name, { value, short }]) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        ...(short === undefined ? {} : { short }),
      },
    ]),
  )
}

/** Every command has it. */
export const helpOption: OptionSpec = { short: 'h', help: 'show this help' }

function problemOf(command: Command, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const unknown = /^Unknown option '(-{1,2}[^']+)'/.exec(message)?.[1]
  if (unknown === undefined) return `${command.name}: ${message.split('. ')[0]}`
  const near = nearest(unknown.replace(/^-+/, ''), [...Object.keys(command.options), 'help'])
  const advice = near === undefined ? '' : `; did you mean --${near}?`
  return `${command.name} has no option ${unknown}${advice}`
}

function seeHelp({ name }: Command): string {
  return `see allm ${name} --help`
}
