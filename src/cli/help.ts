import type { Command, OptionSpecs } from './command.ts'
import { exitCodeLines } from './exit-codes.ts'
import { helpOption } from './parse-command-line.ts'

/** The help of the whole program. */
export function programHelp(commands: readonly Command[]): string {
  return lines([
    'allm: LLM runs that you can test, stop, save and resume',
    '',
    'Usage: allm <command> [options]',
    '',
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    '',
    'Every command takes --help. Without a key and without --provider everything runs on the Fake, offline.',
    '',
    'Exit codes',
    ...exitCodeLines.map((line) => `  ${line}`),
  ])
}

/** The help of one command. */
export function commandHelp(command: Command): string {
  const { name, summary, synopsis, options, notes = [] } = command
  return lines([
    `allm ${name}: ${summary}`,
    '',
    `Usage: allm ${name} ${synopsis}`.trimEnd(),
    '',
    'Options',
    ...columns(optionRows({ ...options, help: helpOption })),
    ...notes.flatMap((note) => ['', note]),
  ])
}

function optionRows(options: OptionSpecs): readonly (readonly [string, string])[] {
  return Object.entries(options).map(([name, { value, short, help }]) => {
    const long = value === undefined ? `--${name}` : `--${name} ${value}`
    return [short === undefined ? long : `-${short}, ${long}`, help]
  })
}

function columns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`
}
