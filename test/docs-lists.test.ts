import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventTypes } from '../src/core/types/events.ts'
import { loopHaltReasons } from '../src/core/types/results.ts'
import { sessionStatuses } from '../src/core/types/session.ts'
import { viewIncludes } from '../src/engine/model-call/view-event.ts'
import { blocksOf } from './support/doc-blocks.ts'
import { messageMarks } from './support/message-marks.ts'
import { root } from './support/root.ts'

/** The lists of closed unions that a guide gives whole. */
test.each<[string, string, readonly string[]]>([
  ['event', '02-streaming.md', eventTypes],
  ['name that a view can include', '02-streaming.md', viewIncludes],
  ['reason of the loop to halt', '03-tools.md', loopHaltReasons],
  ['status of a session', '04-sessions.md', sessionStatuses],
])('every %s is in the guide %s', (_what, guide, words) => {
  const text = readFileSync(join(root, 'docs/guides', guide), 'utf8')
  expect(words.filter((word) => !text.includes(`\`${word}\``))).toEqual([])
})

test('the guide to sessions and the comment of Message.metadata list the same keys, all that the library sets', () => {
  const guide = readFileSync(join(root, 'docs/guides/04-sessions.md'), 'utf8')
  const [, table = ''] = guide.split('### What the library writes into `metadata`')
  const [rows = ''] = table.split('\n## ')
  const listed = [...rows.matchAll(/^\| `(\w+)`/gm)].map(([, key]) => key)
  expect(new Set(listed)).toEqual(new Set(messageMarks))
  const source = readFileSync(join(root, 'src/core/types/message.ts'), 'utf8')
  const [before = ''] = source.split('readonly metadata?: JsonObject')
  const comment = before.slice(before.lastIndexOf('/**')).matchAll(/`(\w+)`/g)
  expect(new Set(Array.from(comment, ([, key]) => key))).toEqual(new Set(messageMarks))
})

test('the decision records have their number in their title, and every record has another', () => {
  const folder = join(root, 'docs/decisions')
  const files = readdirSync(folder).toSorted()
  for (const file of files) {
    const number = file.slice(0, 3)
    expect(readFileSync(join(folder, file), 'utf8')).toMatch(new RegExp(`^# ${number} · `))
  }
  expect(new Set(files.map((file) => file.slice(0, 3))).size).toBe(files.length)
})

const guides = readdirSync(join(root, 'docs/guides'))
  .filter((name) => name.endsWith('.md'))
  .toSorted()
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const surfaces = JSON.parse(read('test/public-api.json')) as Readonly<
  Record<string, { readonly values: readonly string[]; readonly types: readonly string[] }>
>

test('the README lists every guide once, in the order of their numbers', () => {
  const [, list = ''] = read('README.md').split('\n## Guides\n')
  const listed = [...list.matchAll(/^\d+\. \[.+\]\(docs\/guides\/(.+\.md)\)$/gm)]
  expect(listed.map(([, name]) => name)).toEqual(guides)
})

/** Pages to look things up in, at the end. They open with their list, and have no test of their own. */
const isReference = (guide: string): boolean => /-(?:recipes|upgrading)\b/.test(guide)

describe.each(guides.filter((guide) => !isReference(guide)))('the guide %s', (guide) => {
  const text = read(`docs/guides/${guide}`)

  test('opens with a paragraph of several sentences, before any list, table, picture or code', () => {
    const [title = '', opening = ''] = text.split('\n\n')
    expect(title).toMatch(/^# \S/)
    expect(opening).toMatch(/^[A-Z"“`]/)
    expect(opening.split(/[.?!:]["”)]?\s+(?=[A-Z"“`])/).length).toBeGreaterThan(1)
  })

  test('ends with a section "A test" whose program is run', () => {
    const last = text.slice(text.lastIndexOf('\n## '))
    expect(last).toMatch(/^\n## A test\n/)
    const programs = blocksOf(guide, last).filter(({ runs, file }) => runs && file === undefined)
    expect(programs.some(({ code }) => /\b(?:assert\b|expectTrajectory\()/.test(code))).toBe(true)
  })
})

test.each(guides.slice(0, -1))('the guide %s ends with a link to the next one', (guide) => {
  const next = guides[guides.indexOf(guide) + 1]
  const [, title, path] = /\n\nNext: \[(.+)\]\((.+)\)\.\n$/.exec(read(`docs/guides/${guide}`)) ?? []
  expect(path).toBe(next)
  expect(read(`docs/guides/${next}`).split('\n', 1)).toEqual([`# ${title}`])
})

const pages = ['', 'bench', 'docs', 'docs/guides', 'docs/decisions'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md') || name === 'llms.txt')
    .map((name) => join(folder, name)),
)

test.each(pages)('%s links only files and headings that exist', (page) => {
  const text = withoutCode(read(page)).replaceAll(/`[^`\n]*`/g, 'code')
  const links = [...text.matchAll(/\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)]
  const broken = links.filter(([, path = '', heading]) => {
    const target = path === '' ? page : join(dirname(page), path)
    if (!existsSync(join(root, target))) return true
    return heading !== undefined && !headingsOf(target).includes(heading)
  })
  expect(broken.map(([link]) => link)).toEqual([])
})

/** The anchors of a page, as GitHub makes them. */
function headingsOf(page: string): readonly string[] {
  const seen = new Map<string, number>()
  return [...withoutCode(read(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
}

function withoutCode(text: string): string {
  return text.replaceAll(/^( *)```[^]*?^\1```$/gm, '')
}

describe('llms.txt', () => {
  const text = read('llms.txt')
  const exported = new Set(
    Object.values(surfaces).flatMap(({ values, types }) => [...values, ...types]),
  )
  const sectionOf = (title: string): string =>
    text.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? ''

  test('has a title and a summary in one paragraph, and is in the package with what it links', () => {
    expect(text).toMatch(/^# allm-ts\n\n> [^\n]+\n\n/)
    const { files } = JSON.parse(read('package.json')) as { readonly files: readonly string[] }
    const packed = ['README.md', ...files.filter((path) => !path.startsWith('!'))]
    expect(packed).toContain('llms.txt')
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, path = '']) => path)
    const isPacked = (path: string): boolean =>
      packed.some((each) => path === each || path.startsWith(`${each}/`))
    expect(links.filter((path) => !isPacked(path))).toEqual([])
  })

  test('lists every guide in order, under its title', () => {
    const rows = [...sectionOf('Guides').matchAll(/^- \[(.+)\]\(docs\/guides\/(.+\.md)\): \S/gm)]
    expect(rows.map(([, , guide]) => guide)).toEqual(guides)
    for (const [, title = '', guide = ''] of rows) {
      const [heading = ''] = read(`docs/guides/${guide}`).split('\n', 1)
      expect(heading).toBe(`# ${title}`)
    }
  })

  test('lists every entry point, with names that it exports', () => {
    const rows = [...sectionOf('Entry points').matchAll(/^- `([^`]+)`: (.+)$/gm)]
    const subpaths = rows.map(([, name = '']) => name.replace('allm-ts', '.'))
    expect(subpaths.toSorted()).toEqual(Object.keys(surfaces).toSorted())
    for (const [index, [, , names = '']] of rows.entries()) {
      const subpath = subpaths[index] ?? ''
      const named = [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
      expect(named.filter((name) => !surfaces[subpath]?.values.includes(name))).toEqual([])
    }
  })

  test('names nothing that does not exist: calls are exports, other names are in the sources', async () => {
    const quoted = [...withoutCode(text).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)
    const calls = quoted.flatMap((code) => /^(\w+)\(/.exec(code)?.[1] ?? [])
    expect(calls.length).toBeGreaterThan(15)
    expect(calls.filter((name) => !exported.has(name))).toEqual([])
    const { Session } = await import('../src/index.ts')
    const operations = quoted.flatMap((code) => /^Session\.(\w+)/.exec(code)?.[1] ?? [])
    expect(operations.filter((name) => !Object.hasOwn(Session, name))).toEqual([])
    // Names that are not ours: of other libraries and of the platform.
    const foreign = new Set([
      'parameters',
      'inputSchema',
      'execute',
      'bullmq',
      'fetch',
      'allm',
      'npx',
    ])
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    const words = new Set(
      sources
        .filter((path) => path.endsWith('.ts'))
        .flatMap((path) => read(join('src', path)).match(/\w+/g) ?? []),
    )
    const names = quoted.flatMap((code) => /^(?:\w+\.)*(\w+)(?:[(: ]|$)/.exec(code)?.[1] ?? [])
    const isKnown = (name: string): boolean => words.has(name) || name.endsWith('_API_KEY')
    expect(names.filter((name) => !isKnown(name) && !foreign.has(name))).toEqual([])
  })
})

test('the API reference has every entry point', () => {
  const { entryPoints } = JSON.parse(read('docs/api-reference/typedoc.json')) as {
    readonly entryPoints: readonly string[]
  }
  const files = Object.keys(surfaces).map((path) => (path === '.' ? 'index' : path.slice(2)))
  expect(entryPoints.toSorted()).toEqual(files.map((file) => `../../src/${file}.ts`).toSorted())
})

test('the page about upgrading names every export of 0.1.0 that is no longer where it was', () => {
  type Surfaces = Record<string, Record<'values' | 'types', readonly string[]>>
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8')) as Surfaces
  const now = read('test/public-api.json')
  const page = readFileSync(join(root, 'docs/guides/29-upgrading-from-0.1.md'), 'utf8')
  const gone = Object.entries(read('test/fixtures/public-api-0.1.0.json')).flatMap(
    ([entryPoint, { values, types }]) => [
      ...values.filter((name) => !now[entryPoint]?.values.includes(name)),
      ...types.filter((name) => !now[entryPoint]?.types.includes(name)),
    ],
  )
  expect(gone.length).toBeGreaterThan(0)
  expect(gone.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})
