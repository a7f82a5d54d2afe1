import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { viewIncludes } from '../src/run/view-event.ts'
import { eventTypes } from '../src/types/events.ts'
import { loopHaltReasons } from '../src/types/results.ts'
import { sessionStatuses } from '../src/types/session.ts'
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
  const source = readFileSync(join(root, 'src/types/message.ts'), 'utf8')
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

test('the README lists every guide once, in the order of their numbers', () => {
  const guides = readdirSync(join(root, 'docs/guides')).filter((name) => name.endsWith('.md'))
  const [, list = ''] = readFileSync(join(root, 'README.md'), 'utf8').split('\n## Guides\n')
  const listed = [...list.matchAll(/^\d+\. \[.+\]\(docs\/guides\/(.+\.md)\)$/gm)]
  expect(listed.map(([, name]) => name)).toEqual(guides.toSorted())
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
