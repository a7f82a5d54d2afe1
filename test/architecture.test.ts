import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript-6'
import { describe, expect, test } from 'vitest'
import { root } from './support/root.ts'
import {
  filesUnder,
  placeOf,
  folderOf,
  sourceFiles,
  treeOf,
  type SourceFile,
} from './support/source-tree.ts'

/** The floors from top to bottom, and the floors above that each may import from. Type imports count. */
const floors: Readonly<Record<string, readonly string[]>> = {
  core: [],
  engine: ['core'],
  // An engine and a provider meet in the user's program only.
  providers: ['core'],
  models: ['core', 'engine', 'providers'],
  middleware: ['core', 'engine', 'providers'],
  durable: ['core', 'engine'],
  bridges: ['core', 'engine', 'providers', 'durable'],
  testing: ['core', 'engine', 'providers', 'middleware', 'durable'],
  apps: ['core', 'engine', 'providers', 'models', 'middleware', 'durable', 'bridges', 'testing'],
}

/** The folders of each floor, and the folders of the same floor that each may import from. A new folder needs a row. */
const folders: Readonly<Record<string, readonly string[]>> = {
  'core/types': [],
  'core/errors': ['core/types'],
  'core/base': ['core/types', 'core/errors'],
  'core/contracts': ['core/types', 'core/errors', 'core/base'],
  'core/schema': ['core/types', 'core/errors', 'core/base', 'core/contracts'],
  'core/messages': ['core/types', 'core/base', 'core/contracts', 'core/schema'],
  'core/answer': [
    'core/types',
    'core/errors',
    'core/base',
    'core/contracts',
    'core/schema',
    'core/messages',
  ],

  // The record of a call. Everything that folds, runs, saves or shows a call stands on it.
  'engine/calls': [],
  'engine/model-call': ['engine/calls'],
  'engine/tools': ['engine/calls', 'engine/model-call'],
  'engine/chat': ['engine/calls', 'engine/model-call', 'engine/tools'],
  'engine/session': ['engine/calls', 'engine/model-call', 'engine/chat', 'engine/tools'],
  'engine/agents': [
    'engine/calls',
    'engine/model-call',
    'engine/chat',
    'engine/tools',
    'engine/session',
  ],

  'providers/http': [],
  'providers/vision': [],
  'providers/shared': ['providers/http', 'providers/vision'],
  // None knows another.
  'providers/openai': ['providers/http', 'providers/vision', 'providers/shared'],
  'providers/anthropic': ['providers/http', 'providers/vision', 'providers/shared'],
  'providers/gemini': ['providers/http', 'providers/vision', 'providers/shared'],
  'providers/cohere': ['providers/http', 'providers/vision', 'providers/shared'],

  models: [],
  middleware: [],

  'durable/stores': [],
  'durable/runs': ['durable/stores'],
  'durable/queues': ['durable/stores', 'durable/runs'],
  'durable/client': ['durable/runs'],

  'bridges/ui': [],
  'bridges/ai-sdk': [],
  'bridges/mcp': [],
  'bridges/otel': [],

  'testing/fakes': [],
  'testing/server': ['testing/fakes'],
  'testing/recording': ['testing/fakes', 'testing/server'],
  'testing/conformance': ['testing/fakes'],

  'apps/inspector': [],
  'apps/inspector/page': ['apps/inspector'],
  'apps/cli': ['apps/inspector'],
}

/** Folders that may import less than their floor. */
const narrower: Readonly<Record<string, readonly string[]>> = {
  // A store keeps sessions and what they wait for; it runs nothing.
  'durable/stores': ['core', 'engine/session', 'engine/calls'],
  // Types only: a page loads nothing else.
  'durable/client': ['core/types', 'engine/model-call', 'engine/session', 'durable/runs'],
  // A service that exports spans and metrics does not load the engine for them.
  'bridges/otel': ['core'],
  // Only what is sent and read over a wire is shared with providers.
  'bridges/mcp': ['core', 'engine'],
  // The renderers of the fake server read the wires by themselves, so a round trip through a decoder proves something.
  'testing/server': ['core', 'testing/fakes'],
  'testing/fakes': ['core', 'engine'],
  // The page in the browser. Nothing imports it.
  'apps/inspector/page': ['core', 'engine', 'durable/stores', 'apps/inspector'],
}

/** The folders that need Node. All others run wherever there is `fetch`. */
const needsNode = (path: string): boolean =>
  /^(?:apps|testing\/server|testing\/recording\/proxy)\//.test(path)

const entryPoints = sourceFiles.filter(({ folder }) => folder === '')
const inFolders = sourceFiles.filter(({ folder }) => folder !== '')

describe('floors', () => {
  test('src has nine folders, and each has a row', () => {
    const found = new Set(inFolders.map(({ path }) => floorOf(path)))
    expect([...found].toSorted()).toEqual(Object.keys(floors).toSorted())
  })

  test('a floor imports only from floors above it', () => {
    const order = Object.keys(floors)
    for (const [floor, above] of Object.entries(floors)) {
      expect(order.slice(0, order.indexOf(floor))).toEqual(expect.arrayContaining([...above]))
    }
  })

  test.each(Object.keys(folders))('%s imports only what its rows allow', (folder) => {
    const files = inFolders.filter((file) => file.folder === folder)
    expect(files, `there is no folder ${folder}`).not.toEqual([])
    const forbidden = files.flatMap((file) =>
      filesImportedBy(file)
        .filter((path) => !mayImport(folder, path))
        .map((path) => `${file.path} imports ${path}`),
    )
    expect(forbidden).toEqual([])
  })

  test('every folder has a row', () => {
    const found = new Set(inFolders.map(({ folder }) => folder))
    expect([...found].filter((folder) => folders[folder] === undefined)).toEqual([])
  })

  test('the tests of a floor are in a folder of its name, and its folders too', () => {
    const known = new Set(inFolders.map(({ folder }) => folder))
    const strange = filesUnder('test')
      .filter((path) => floors[floorOf(path)] !== undefined)
      .map(folderOf)
      .filter((folder) => !known.has(folder) && floors[folder] === undefined)
    expect([...new Set(strange)]).toEqual([])
  })

  test('there are no import cycles', () => {
    expect(cycles()).toEqual([])
  })

  test('nothing imports an entry point', () => {
    const guests = sourceFiles.filter((file) =>
      filesImportedBy(file).some((path) => folderOf(path) === ''),
    )
    expect(guests.map(({ path }) => path)).toEqual([])
  })

  test('an entry point holds named re-exports and nothing else', () => {
    const others = entryPoints.flatMap((file) =>
      treeOf(file).statements.filter(
        (statement) =>
          !ts.isExportDeclaration(statement) ||
          statement.moduleSpecifier === undefined ||
          statement.exportClause === undefined,
      ),
    )
    expect(others.map(placeOf)).toEqual([])
  })

  test('source files import only source files, and Node modules only in the folders that need Node', () => {
    const forbidden = sourceFiles.flatMap(({ path, folder, imports }) =>
      imports
        .filter((name) => !/\.tsx?$/.test(name))
        .filter((name) => !(name.startsWith('node:') && needsNode(path)))
        // It is bundled into the page, so nobody has to install it.
        .filter((name) => !(/^preact(?:\/hooks)?$/.test(name) && folder === 'apps/inspector/page'))
        .map((name) => `${path} imports ${name}`),
    )
    expect(forbidden).toEqual([])
  })

  test('files are in kebab case, and no folder has an index', () => {
    const names = inFolders.map(({ path }) => path)
    const odd = names.filter(
      (path) => !/^(?:[a-z0-9]+(?:-[a-z0-9]+)*\/)+[a-z0-9]+(?:-[a-z0-9]+)*\.tsx?$/.test(path),
    )
    expect([...odd, ...names.filter((path) => path.endsWith('/index.ts'))]).toEqual([])
  })
})

// The linter refuses `any`, non-null assertions and default exports.
describe('style', () => {
  test('every class is an error', () => {
    const others = inFolders.flatMap(({ path, text }) =>
      [...text.matchAll(/(?:^|[=(,] )(?:export )?(?:abstract )?class [^{]*\{/gm)]
        .map(([line]) => line)
        .filter((line) => !/\bextends \w*Error\b/.test(line))
        .map((line) => `${path}: ${line}`),
    )
    expect(others).toEqual([])
  })

  test('the compiler is not silenced', () => {
    const silenced = sourceFiles.filter(({ text }) =>
      /@ts-(?:ignore|nocheck|expect-error)/.test(text),
    )
    expect(silenced.map(({ path }) => path)).toEqual([])
  })

  test('no test is skipped or singled out, and no title contains should', () => {
    const forbidden =
      /\b(?:test|it|describe)\.(?:skip|only|todo|fails)\b|\b(?:test|it)\(\s*['"`][^'"`]*\bshould\b/
    const found = testFiles().filter(
      ([path, text]) => path !== 'architecture.test.ts' && forbidden.test(text),
    )
    expect(found.map(([path]) => path)).toEqual([])
  })
})

function floorOf(path: string): string {
  return path.split('/')[0] ?? ''
}

/** Whether a folder may import a file: its own, one of its floor by its row, one of a floor above. */
function mayImport(folder: string, path: string): boolean {
  const target = folderOf(path)
  if (target === folder) return true
  const only = narrower[folder]
  if (only !== undefined) return only.includes(target) || only.includes(floorOf(path))
  if (floorOf(path) === floorOf(folder)) return folders[folder]?.includes(target) ?? false
  return floors[floorOf(folder)]?.includes(floorOf(path)) ?? false
}

function filesImportedBy({ imports }: SourceFile): readonly string[] {
  return imports.filter((path) => /\.tsx?$/.test(path))
}

/** The first import cycle that is found from each file. */
function cycles(): readonly string[] {
  const imports = new Map(sourceFiles.map((file) => [file.path, filesImportedBy(file)]))
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, above: readonly string[]): void => {
    if (above.includes(path)) found.push([...above.slice(above.indexOf(path)), path].join(' → '))
    if (done.has(path)) return
    done.add(path)
    for (const next of imports.get(path) ?? []) visit(next, [...above, path])
  }
  for (const path of imports.keys()) visit(path, [])
  return found
}

function testFiles(): readonly (readonly [string, string])[] {
  return filesUnder('test')
    .filter((path) => !path.startsWith('.'))
    .map((path) => [path, readFileSync(join(root, 'test', path), 'utf8')])
}
