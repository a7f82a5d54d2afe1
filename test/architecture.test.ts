import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript-6'
import { describe, expect, test } from 'vitest'
import { root } from './support/root.ts'
import {
  exportsOf,
  filesUnder,
  nodesOf,
  placeOf,
  folderOf,
  sourceFiles,
  type SourceFile,
} from './support/source-tree.ts'

const ground = ['types', 'errors', 'core', 'contracts', 'schema', 'make']
const run = [...ground, 'run']
const provider = [...ground, 'run', 'http', 'vision']
const loop = [...run, 'tools', 'chat', 'session']
const providers = ['providers/openai', 'providers/anthropic', 'providers/gemini']

/** Each folder, and the folders that it may import from. Type imports count. A new folder needs a row. */
const folders: Readonly<Record<string, readonly string[]>> = {
  types: [],
  errors: ['types'],
  core: ['types', 'errors'],
  contracts: ['types', 'errors', 'core'],
  schema: ['types', 'errors', 'core', 'contracts'],
  make: ['types', 'errors', 'core', 'contracts', 'schema'],
  run: ground,
  // Tools bring what runs them, so the loop does not import it.
  chat: run,
  tools: [...run, 'chat'],
  session: [...run, 'tools', 'chat'],
  agents: [...run, 'tools', 'chat', 'session'],
  stores: [...ground, 'session'],
  runs: [...ground, 'run', 'session', 'stores'],
  queues: [...ground, 'stores', 'runs'],
  // Types only: a page loads nothing else.
  client: ['types', 'run', 'session', 'runs'],
  ui: [...run, 'session', 'stores', 'runs'],
  mcp: [...run, 'tools'],
  models: [...run, 'vision', 'http', 'providers/shared'],
  http: ground,
  vision: ground,
  'providers/shared': provider,
  'providers/openai': [...provider, 'providers/shared'],
  'providers/anthropic': [...provider, 'providers/shared'],
  'providers/gemini': [...provider, 'providers/shared'],
  'providers/cohere': [...provider, 'providers/shared'],
  'ai-sdk': [...provider, 'providers/shared'],
  testing: loop,
  middleware: [...run, 'http', 'testing'],
  otel: ['types', 'errors', 'core', 'schema'],
  server: [...ground, 'testing'],
  proxy: [...provider, 'providers/shared', ...providers, 'testing', 'middleware', 'server'],
  conformance: [...ground, 'run', 'testing', 'stores'],
  inspector: [...loop, ...providers, 'stores', 'runs', 'testing', 'middleware', 'server'],
  // The page in the browser. Nothing imports it.
  'inspector/page': ['types', 'errors', 'run', 'session', 'stores', 'inspector'],
  cli: [
    ...loop,
    ...providers,
    'testing',
    'middleware',
    'server',
    'proxy',
    'conformance',
    'stores',
    'models',
    'mcp',
    'runs',
    'inspector',
  ],
}

/** The folders that need Node. All others run wherever there is `fetch`. */
const nodeFolders = new Set(['server', 'proxy', 'inspector', 'cli'])

const entryPoints = sourceFiles.filter(({ folder }) => folder === '')
const inFolders = sourceFiles.filter(({ folder }) => folder !== '')

describe('folders', () => {
  test.each([...new Set(inFolders.map(({ folder }) => folder))])(
    '%s imports only from the folders in its row',
    (folder) => {
      const allowed = folders[folder]
      expect(allowed, `add a row for ${folder} to the table of folders`).toBeDefined()
      const forbidden = inFolders
        .filter((file) => file.folder === folder)
        .flatMap((file) => filesImportedBy(file).map((path) => [file.path, path] as const))
        .filter(([, path]) => folderOf(path) !== folder && !allowed?.includes(folderOf(path)))
      expect(forbidden.map((pair) => pair.join(' imports '))).toEqual([])
    },
  )

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
    const others = entryPoints.flatMap(({ tree }) =>
      tree.statements.filter(
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
        .filter((name) => !(name.startsWith('node:') && nodeFolders.has(folder)))
        // It is bundled into the page, so nobody has to install it.
        .filter((name) => !(/^preact(?:\/hooks)?$/.test(name) && folder === 'inspector/page'))
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

describe('style', () => {
  test('there is no any, no non-null assertion and no default export', () => {
    const forbidden = sourceFiles.flatMap(({ tree }) => nodesOf(tree).filter(isForbidden))
    expect(forbidden.map(placeOf)).toEqual([])
  })

  test('every class is an error', () => {
    const others = inFolders
      .flatMap(({ tree }) => nodesOf(tree).filter((node) => ts.isClassLike(node)))
      .filter(
        ({ heritageClauses }) =>
          !/\bextends \w*Error(?:<.*>)?$/.test(heritageClauses?.[0]?.getText() ?? ''),
      )
    expect(others.map(placeOf)).toEqual([])
  })

  test('the compiler is not silenced', () => {
    const silenced = sourceFiles.filter(({ text }) =>
      /@ts-(?:ignore|nocheck|expect-error)/.test(text),
    )
    expect(silenced.map(({ path }) => path)).toEqual([])
  })

  test('every public export has a doc block', () => {
    const bare = entryPoints.flatMap((entryPoint) => undocumented(entryPoint, new Set()))
    expect([...new Set(bare)]).toEqual([])
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

function isForbidden(node: ts.Node): boolean {
  return (
    node.kind === ts.SyntaxKind.AnyKeyword ||
    ts.isNonNullExpression(node) ||
    ts.isExportAssignment(node) ||
    (node.kind === ts.SyntaxKind.DefaultKeyword && !ts.isDefaultClause(node.parent))
  )
}

/** The exports of a file that have no doc block. Re-exports are followed. */
function undocumented(file: SourceFile, seen: Set<string>): readonly string[] {
  if (seen.has(file.path)) return []
  seen.add(file.path)
  return exportsOf(file).flatMap(({ name, node, from }) => {
    if (from === undefined) return isDocumented(node) ? [] : [`${placeOf(node)} ${name}`]
    const target = sourceFiles.find(({ path }) => path === from.path)
    if (target === undefined) return [`${placeOf(node)} ${name} leads nowhere`]
    if (from.name === '*') return undocumented(target, seen)
    const declaration = exportsOf(target).find((exported) => exported.name === from.name)
    if (declaration === undefined) return [`${placeOf(node)} ${name} leads nowhere`]
    if (declaration.from !== undefined) return []
    return isDocumented(declaration.node) ? [] : [`${placeOf(declaration.node)} ${from.name}`]
  })
}

function isDocumented(node: ts.Node): boolean {
  return ts.getJSDocCommentsAndTags(node).length > 0
}

function testFiles(): readonly (readonly [string, string])[] {
  return filesUnder('test')
    .filter((path) => !path.startsWith('.'))
    .map((path) => [path, readFileSync(join(root, 'test', path), 'utf8')])
}
