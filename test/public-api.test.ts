import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript-6'
import { describe, expect, test } from 'vitest'
import { root } from './support/root.ts'
import { exportsOf, placeOf, sourceFiles, type SourceFile } from './support/source-tree.ts'

/** The exports of an entry point: values that exist at runtime, and types. */
interface Surface {
  readonly values: readonly string[]
  readonly types: readonly string[]
}

const pinned = join(root, 'test/public-api.json')
const { exports: subpaths } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<
    Record<string, string | { readonly types: string; readonly default: string }>
  >
}
const entryPoints = Object.keys(subpaths).filter((subpath) => subpath !== './package.json')
const current = Object.fromEntries(
  await Promise.all(
    entryPoints.map(async (entryPoint) => [entryPoint, await surfaceOf(entryPoint)]),
  ),
)

if (process.env['UPDATE_API'] !== undefined) {
  writeFileSync(pinned, JSON.stringify(current))
  execFileSync(join(root, 'node_modules/.bin/oxfmt'), [pinned])
}

describe.each(entryPoints)('%s', (entryPoint) => {
  test('exports the pinned names; update them after an intended change: UPDATE_API=1 npx vitest run test/public-api', () => {
    const expected = JSON.parse(readFileSync(pinned, 'utf8')) as Record<string, Surface>
    expect(current[entryPoint]).toEqual(expected[entryPoint])
  })

  test('lists its types first, then the module for bundlers, then the bundle for Node, then the default for every runtime', () => {
    const name = fileOf(entryPoint).replace('.ts', '')
    expect(Object.entries(subpaths[entryPoint] ?? {})).toEqual([
      ['types', `./dist/${name}.d.ts`],
      ['module', `./dist/${name}.js`],
      ['node', `./dist/node/${name}.js`],
      ['default', `./dist/${name}.js`],
    ])
  })
})

test('the package exports every entry point file and nothing else', () => {
  const files = sourceFiles.filter(({ folder }) => folder === '').map(({ path }) => path)
  expect(entryPoints.map(fileOf).toSorted()).toEqual(files)
})

test('every public export has a doc block', () => {
  const files = sourceFiles.filter(({ folder }) => folder === '')
  const bare = files.flatMap((entryPoint) => undocumented(entryPoint, new Set()))
  expect([...new Set(bare)]).toEqual([])
})

/** The names that programs outside this repository depend on. */
const promised: Readonly<Record<string, string>> = {
  '.': `system user assistant toolResult textPart imagePart imageFromUrl imageFromBytes imageFromBase64 imageFromDataUri
    imageFromFile modelRequest jsonSchema imageRequest tool askUser halt fail createEngine extendEngine generate streamGenerate
    step streamStep chat streamChat collect collectStep collectChat createCollector applyEvent toResponse toStepResult
    toChatResult unwrap textDeltas runToolCalls streamToolCalls Session generateImage editImage imageVariations validateRequest
    validateThread validateMessage validateTool validateSession validateImageRequest isSendable AdapterError StreamError
    ToolError EngineError ValidationError SessionError ImageAdapterError AllmError isAllmError errorToJSON errorFromJSON setKey
    deleteKey resolveKey onTelemetry`,
  './openai': 'openai openaiImages',
  './anthropic': 'anthropic',
  './gemini': 'gemini geminiImages',
  './adapter': `streamHttp sseSplitter ndjsonSplitter messageBuilder assistantMessage parseArguments retryAfterMs reasonOfStatus
    lowerSchema embeddedStream`,
  './testing': `fake fakeImages createScriptCursor detectShape validateScript foldToResponse interpret virtualClock collectEvents
    withEngine currentEngine crashAtEveryEvent`,
  './conformance': `streamAdapterCases adapterCases imageAdapterCases toolExecutorCases toolResultEncoderCases register`,
  './server': 'createFakeServer',
  './ui': 'toUiMessageStream fromUiMessages toAgUi',
}

test.each(Object.entries(promised))('%s keeps its promised names', (entryPoint, names) => {
  expect(entryPoints).toContain(entryPoint)
  expect(current[entryPoint]?.values).toEqual(expect.arrayContaining(names.split(/\s+/)))
})

test('the namespace Session keeps its promised names', async () => {
  const index = (await import('../src/index.ts')) as { readonly Session?: object }
  const names = `create start reply resume step submitToolResult submitToolResults append pendingToolCalls streamStart streamReply
    streamResume streamStep reduce applyEvent finalize stringify parse`
  expect(Object.keys(index.Session ?? {})).toEqual(expect.arrayContaining(names.split(/\s+/)))
})

function fileOf(entryPoint: string): string {
  return entryPoint === '.' ? 'index.ts' : `${entryPoint.slice(2)}.ts`
}

async function surfaceOf(entryPoint: string): Promise<Surface> {
  const path = fileOf(entryPoint)
  const file = sourceFiles.find((source) => source.path === path)
  if (file === undefined || !existsSync(join(root, 'src', path))) return { values: [], types: [] }
  const values = Object.keys((await import(`../src/${path}`)) as object).toSorted()
  const names = exportsOf(file).map(({ name }) => name)
  return { values, types: names.filter((name) => !values.includes(name)).toSorted() }
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
