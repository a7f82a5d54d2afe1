import { exitCodeLines, type Command, type OptionSpec, type OptionSpecs } from './command.ts'
import { columnsOf, styleFor, type Io } from './io.ts'

/** An option of every command. */
export const helpOption: OptionSpec = { short: 'h', help: 'show this help' }

/** The help of the whole program, wrapped for the stream that it is written to. */
export function programHelp(commands: readonly Command[], page: HelpPage): string {
  return page.join([
    page.text('allm-ts: LLM runs that you can test, stop, save and resume'),
    page.text('Usage: allm-ts <command> [options]'),
    page.rows(commands.map(({ name, summary }) => [name, summary])),
    page.text(
      'Every command has --help, with examples. Without a key and without --provider, everything runs on the Fake, offline.',
    ),
    [page.heading('Exit codes'), ...page.rows(exitCodeLines)],
  ])
}

/** The help of one command. */
export function commandHelp(command: Command, page: HelpPage): string {
  const { name, summary, synopsis, options, examples, notes = [] } = command
  return page.join([
    page.text(`allm-ts ${name}: ${summary}`),
    page.text(`Usage: allm-ts ${name} ${synopsis}`.trimEnd(), '         '),
    [page.heading('Options'), ...page.rows(optionRows({ ...options, help: helpOption }))],
    ...notes.map((note) => page.text(note)),
    [
      page.heading('Examples'),
      ...page.rows(examples.map(([line, what]) => [`npx allm-ts ${line}`, what])),
    ],
  ])
}

function optionRows(options: OptionSpecs): readonly Row[] {
  return Object.entries(options).map(([name, { value, short, help }]) => {
    const long = value === undefined ? `--${name}` : `--${name} ${value}`
    return [short === undefined ? long : `-${short}, ${long}`, help]
  })
}

/** A thing, and what it is. */
type Row = readonly [string, string]

/** Lays out help for a width. */
export interface HelpPage {
  readonly heading: (text: string) => string
  /** A paragraph. Its later lines begin with `indent`. */
  readonly text: (text: string, indent?: string) => readonly string[]
  readonly rows: (rows: readonly Row[]) => readonly string[]
  /** Sections with an empty line between them. */
  readonly join: (sections: readonly (readonly string[])[]) => string
}

/** The least room for what stands beside a thing. Where there is less, it stands below. */
const leastBeside = 30

/** Help for the terminal that a stream is, or for 80 columns. */
export function helpPage(stream: Io['stdout'], env: Io['env']): HelpPage {
  const width = columnsOf(stream) ?? 80
  const rows = (list: readonly Row[]): readonly string[] => {
    const left = 4 + Math.max(...list.map(([thing]) => thing.length))
    if (left + leastBeside > width) {
      const below = ' '.repeat(6)
      return list.flatMap(([thing, what]) => [`  ${thing}`, ...wrap(what, width, below, below)])
    }
    return list.flatMap(([thing, what]) =>
      wrap(what, width, `  ${thing}`.padEnd(left), ' '.repeat(left)),
    )
  }
  const style = styleFor(stream, env)
  return {
    heading: (text) => style.bold(text),
    text: (text, indent) => wrap(text, width, '', indent),
    rows,
    join: (sections) => `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`,
  }
}

/** The lines of a text. Words are not broken: one that is longer than the line has a line of its own. */
function wrap(text: string, width: number, first: string, indent: string = ''): readonly string[] {
  const lines: string[] = []
  let [line, isEmpty] = [first, true]
  for (const word of text.split(' ')) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line)
      ;[line, isEmpty] = [indent, true]
    }
    line += isEmpty ? word : ` ${word}`
    isEmpty = false
  }
  return [...lines, line]
}
