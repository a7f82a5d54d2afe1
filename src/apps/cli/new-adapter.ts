import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import {
  exitCodes,
  packagePath,
  packageVersion,
  usageError,
  type Command,
  type CommandCall,
} from './command.ts'
import { say } from './io.ts'

/** `allm-ts new-adapter`: writes a package with an adapter, its harness and its tests. */
export const newAdapterCommand: Command = {
  name: 'new-adapter',
  summary: 'write a package with an adapter, its conformance tests and recordings, all green',
  synopsis: '<name> [options]',
  options: {
    dir: { value: '<folder>', help: 'where to write it (allm-<name>); it must be new or empty' },
  },
  notes: [
    'The adapter speaks an invented API. Its README says how to make it yours; the guide is docs/guides/25-writing-an-adapter.md.',
  ],
  examples: [
    ['new-adapter my-model', 'write ./allm-my-model'],
    ['new-adapter my-model --dir packages/my-model', 'elsewhere'],
  ],
  positionals: [1, 1],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const [name = ''] = call.positionals
  checkName(name)
  const folder = call.text('dir') ?? `allm-${name}`
  checkFolder(folder)
  const files = writePackage(folder, name)
  say(call.io.stdout, `${files.map((file) => `  ${join(folder, file)}`).join('\n')}\n\n`)
  const next = `cd ${folder}\nnpm install\nnpm test\n`
  say(call.io.stdout, `An adapter for ${name}, proven as it stands. Next:\n\n${next}`)
  return exitCodes.ok
}

/** The names that the library uses itself. */
const taken: ReadonlySet<string> = new Set(['openai', 'azure', 'anthropic', 'gemini', 'fake'])

function checkName(name: string): void {
  if (!/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(name) || name.length > 40) {
    throw usageError(
      `${name} is not a name for an adapter: use small letters, digits and hyphens, such as my-model`,
    )
  }
  if (taken.has(name)) throw usageError(`${name} is an adapter of allm-ts; choose another name`)
}

function checkFolder(folder: string): void {
  let files: readonly string[]
  try {
    files = readdirSync(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return
    throw usageError(`${folder} is not a folder; name a new one with --dir`, error)
  }
  if (files.length > 0) throw usageError(`${folder} is not empty; name a new one with --dir`)
}

/** Copies the template, with the name in place of the invented one. Returns the files. */
function writePackage(folder: string, name: string): readonly string[] {
  const template = packagePath('templates/adapter')
  const files = readdirSync(template, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(template, join(entry.parentPath, entry.name)))
    .toSorted()
  return files.map((file) => {
    const target = targetOf(file, name)
    mkdirSync(dirname(join(folder, target)), { recursive: true })
    const text = renamed(readFileSync(join(template, file), 'utf8'), name)
    writeFileSync(join(folder, target), text, { flag: 'wx' })
    return target
  })
}

/** Files that would mean something to npm inside of this package have an underscore there. */
function targetOf(file: string, name: string): string {
  return file.replace('_gitignore', '.gitignore').replace('_', '').replace('parrot', name)
}

/** The template with another name: as a word of the program, in texts and paths, as a title, and in the name of a variable. */
function renamed(text: string, name: string): string {
  const words = name.split('-')
  const titled = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  const [first = ''] = words
  const identifier = first + titled.slice(1).join('')
  return text
    .replaceAll('ALLM_VERSION', `^${packageVersion()}`)
    .replaceAll('PARROT', words.join('_').toUpperCase())
    .replaceAll('Parrot', titled.join(' '))
    .replaceAll(/(?<=['"/.-])parrot(?=['".])/g, name)
    .replaceAll('# allm-parrot', `# allm-${name}`)
    .replaceAll(/\bparrot\b/g, identifier)
}
