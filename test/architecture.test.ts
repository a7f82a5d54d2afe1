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
  roomOf,
  sourceFiles,
  type SourceFile,
} from './support/source-tree.ts'

const ground = ['types', 'errors', 'core', 'contracts', 'schema', 'make']
const run = [...ground, 'run']
const provider = [...ground, 'run', 'http', 'vision']
const loop = [...run, 'tools', 'chat', 'session']
const providers = ['providers/openai', 'providers/anthropic', 'providers/gemini']

/** Folders that are still to be moved. */
const unsorted = [
  'data',
  'events',
  'adapter',
  'async',
  'validate',
  'collect',
  'keys',
  'telemetry',
  'stream',
  'engine',
  'store',
  'rehearsal',
  'wire',
  'make',
  'tools',
  'chat',
  'session',
  'images',
  'http',
  'vision',
  'testing',
  'server',
  'conformance',
  'cli',
  ...providers,
]

/** Each folder, and the folders that it may import from. Type imports count. A new folder needs a row. */
const folders: Readonly<Record<string, readonly string[]>> = {
  types: [],
  errors: ['types'],
  core: ['types', 'errors'],
  contracts: ['types', 'errors', 'core'],
  schema: ['types', 'errors', 'core', 'contracts'],
  make: ['types', 'errors', 'core', 'contracts', 'schema'],
  run: ground,
  tools: run,
  chat: [...run, 'tools'],
  session: [...run, 'tools', 'chat'],
  stores: [...ground, 'session'],
  images: [...run, 'vision'],
  http: ['types', 'errors', 'core'],
  vision: ground,
  'providers/shared': [...ground, 'run', 'http'],
  'providers/openai': [...provider, 'providers/shared'],
  'providers/anthropic': [...provider, 'providers/shared'],
  'providers/gemini': [...provider, 'providers/shared'],
  testing: loop,
  server: [...ground, 'testing'],
  conformance: [...ground, 'run', 'testing'],
  cli: [...loop, ...providers, 'testing', 'server', 'conformance', 'stores', 'images'],
  ...Object.fromEntries(
    unsorted.map((folder) => [
      folder,
      [
        ...unsorted,
        ...ground,
        'run',
        'http',
        'vision',
        'testing',
        'server',
        'tools',
        'chat',
        'session',
        'stores',
        'images',
        ...providers,
      ],
    ]),
  ),
}

/** The rooms that are Node's. All others run wherever there is `fetch`. */
const nodeRooms = new Set(['server', 'cli'])

const doors = sourceFiles.filter(({ room }) => room === '')
const inRooms = sourceFiles.filter(({ room }) => room !== '')

describe('rooms', () => {
  test.each([...new Set(inRooms.map(({ room }) => room))])(
    '%s imports only from its left',
    (room) => {
      const allowed = folders[room]
      expect(allowed, `give ${room} a row in the table of folders`).toBeDefined()
      const strangers = inRooms
        .filter((file) => file.room === room)
        .flatMap((file) => filesImportedBy(file).map((path) => [file.path, path] as const))
        .filter(([, path]) => roomOf(path) !== room && !allowed?.includes(roomOf(path)))
      expect(strangers.map((pair) => pair.join(' imports '))).toEqual([])
    },
  )

  test('no file imports itself, however long the way round', () => {
    expect(cycles()).toEqual([])
  })

  test('nothing imports a door', () => {
    const guests = sourceFiles.filter((file) =>
      filesImportedBy(file).some((path) => roomOf(path) === ''),
    )
    expect(guests.map(({ path }) => path)).toEqual([])
  })

  test('a door holds named re-exports and nothing else', () => {
    const others = doors.flatMap(({ tree }) =>
      tree.statements.filter(
        (statement) =>
          !ts.isExportDeclaration(statement) ||
          statement.moduleSpecifier === undefined ||
          statement.exportClause === undefined,
      ),
    )
    expect(others.map(placeOf)).toEqual([])
  })

  test('nothing is imported but our own files; Node only where it is at home', () => {
    const strangers = sourceFiles.flatMap(({ path, room, imports }) =>
      imports
        .filter((name) => !name.endsWith('.ts'))
        .filter((name) => !(name.startsWith('node:') && nodeRooms.has(room)))
        .map((name) => `${path} imports ${name}`),
    )
    expect(strangers).toEqual([])
  })

  test('files are in kebab case, and no room has an index', () => {
    const names = inRooms.map(({ path }) => path)
    const odd = names.filter(
      (path) => !/^(?:[a-z0-9]+(?:-[a-z0-9]+)*\/)+[a-z0-9]+(?:-[a-z0-9]+)*\.ts$/.test(path),
    )
    expect([...odd, ...names.filter((path) => path.endsWith('/index.ts'))]).toEqual([])
  })
})

describe('manners', () => {
  test('no any, no non-null assertion, no default export', () => {
    const shunned = sourceFiles.flatMap(({ tree }) => nodesOf(tree).filter(isShunned))
    expect(shunned.map(placeOf)).toEqual([])
  })

  test('classes are errors, and only errors are classes', () => {
    const others = inRooms
      .flatMap(({ tree }) => nodesOf(tree).filter((node) => ts.isClassLike(node)))
      .filter(
        ({ heritageClauses }) => !/\bextends \w*Error$/.test(heritageClauses?.[0]?.getText() ?? ''),
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
    const bare = doors.flatMap((door) => undocumented(door, new Set()))
    expect([...new Set(bare)]).toEqual([])
  })

  test('no test is left out, and titles are claims', () => {
    const shunned =
      /\b(?:test|it|describe)\.(?:skip|only|todo|fails)\b|\b(?:test|it)\(\s*['"`][^'"`]*\bshould\b/
    const found = testFiles().filter(
      ([path, text]) => path !== 'architecture.test.ts' && shunned.test(text),
    )
    expect(found.map(([path]) => path)).toEqual([])
  })
})

function filesImportedBy({ imports }: SourceFile): readonly string[] {
  return imports.filter((path) => path.endsWith('.ts'))
}

/** The first way round that is found from each file. */
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

function isShunned(node: ts.Node): boolean {
  return (
    node.kind === ts.SyntaxKind.AnyKeyword ||
    ts.isNonNullExpression(node) ||
    ts.isExportAssignment(node) ||
    (node.kind === ts.SyntaxKind.DefaultKeyword && !ts.isDefaultClause(node.parent))
  )
}

/** The exports of a file without a doc block, by way of the re-exports. */
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
