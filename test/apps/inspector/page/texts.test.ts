import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { alignMessages, comparedText, wordDiff } from '../../../../src/apps/inspector/page/diff.ts'
import { age, cost, count, duration, tokens } from '../../../../src/apps/inspector/page/format.ts'
import {
  clipped,
  firstLine,
  safeImage,
  safeLink,
  visiblePieces,
  visibleText,
} from '../../../../src/apps/inspector/page/hostile.ts'
import { arranged, refreshed } from '../../../../src/apps/inspector/page/list.ts'
import { parseRoute, routeFragment, takeToken } from '../../../../src/apps/inspector/page/route.ts'
import { summaryOf } from '../../../../src/apps/inspector/page/summary.ts'
import { choicesOf, transcriptOf } from '../../../../src/apps/inspector/page/transcript.ts'
import { askUser, createEngine, Session, tool, type Message } from '../../../../src/index.ts'
import { fake, virtualClock } from '../../../../src/testing.ts'
import { root } from '../../../support/root.ts'
import { logOf, send } from './logs.ts'

const folder = join(root, 'src/apps/inspector/page')
const sources = readdirSync(folder).map(
  (name) => [name, readFileSync(join(folder, name), 'utf8')] as const,
)

describe('text from anywhere', () => {
  test('nothing in the page makes HTML of a text', () => {
    const markup =
      /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/
    expect(sources.filter(([, text]) => markup.test(text)).map(([name]) => name)).toEqual([])
  })

  test('nothing in the page has a style or a script in its markup, or an address of elsewhere', () => {
    const [, html = ''] = sources.find(([name]) => name === 'index.html') ?? []
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script>|https?:/)
    const [, css = ''] = sources.find(([name]) => name === 'page.css') ?? []
    expect(css).not.toMatch(/url\(|@import|https?:/)
  })

  test.each([
    ['a\u001b[31mb', 'a⟨ESC⟩[31mb'],
    ['a\u0000b', 'a⟨NUL⟩b'],
    ['\u202Etxt.exe', '⟨U+202E⟩txt.exe'],
    ['a\u2066b\u2069', 'a⟨U+2066⟩b⟨U+2069⟩'],
    ['zero\u200Bwidth', 'zero⟨U+200B⟩width'],
    ['c1\u009Bm', 'c1⟨U+009B⟩m'],
    ['tag\u{E0041}', 'tag⟨U+E0041⟩'],
    ['lone\uD800', 'lone⟨U+D800⟩'],
    ['over\rwrite', 'over⟨CR⟩write'],
  ])('what would not be seen is shown: %j', (text, shown) => {
    expect(visibleText(text)).toBe(shown)
  })

  test.each(['a\tb\nc', 'a\r\nb', 'naïve 日本語 👩‍👩‍👧', 'שלום'])(
    'what is seen stays as it is: %j',
    (text) => {
      expect(visiblePieces(text)).toEqual([text])
    },
  )

  test('a long text is cut, never within a character', () => {
    expect(clipped('a'.repeat(10), 4)).toEqual({ shown: 'aaaa', rest: 6 })
    expect(clipped('aaa😀b', 4)).toEqual({ shown: 'aaa', rest: 3 })
    expect(clipped('abc', 4)).toEqual({ shown: 'abc', rest: 0 })
    expect(firstLine(`a\n\n b ${'c'.repeat(2_000_000)}`, 10)).toBe('a b cccc…')
  })

  test.each([
    ['https://example.com/a?b=c', 'https://example.com/a?b=c'],
    ['HTTP://example.com', 'http://example.com/'],
    ['javascript:alert(1)', undefined],
    [' javascript:alert(1)', undefined],
    ['data:text/html,x', undefined],
    ['//example.com', undefined],
    ['https://good.example@evil.example/', undefined],
    ['https://', undefined],
  ])('only http and https are links: %j', (address, link) => {
    expect(safeLink(address)).toBe(link)
  })

  test('only images that have their bytes with them, of types that run nothing, are drawn', () => {
    expect(safeImage({ type: 'base64', base64: 'AAAA', mimeType: 'image/png' })).toBe(
      'data:image/png;base64,AAAA',
    )
    expect(safeImage({ type: 'url', url: 'data:image/png;base64,AAAA' })).toBe(
      'data:image/png;base64,AAAA',
    )
    expect(safeImage({ type: 'base64', base64: 'AAAA', mimeType: 'image/svg+xml' })).toBeUndefined()
    expect(safeImage({ type: 'base64', base64: '"><b>', mimeType: 'image/png' })).toBeUndefined()
    expect(safeImage({ type: 'url', url: 'https://example.com/a.png' })).toBeUndefined()
    expect(safeImage({ type: 'url', url: 'data:image/svg+xml;base64,AAAA' })).toBeUndefined()
  })

  test('a row of the list of events is short, whatever the event has', () => {
    const big = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`k${index}`, 'v'.repeat(100)]),
    )
    const [entry] = logOf([
      0,
      { type: 'tool_execution_started', id: 'a', name: 'x\u202E', arguments: big },
    ])
    if (entry === undefined) throw new Error('there is an entry')
    const { text } = summaryOf(entry)
    expect(text.length).toBeLessThan(400)
    expect(text).toContain('⟨U+202E⟩')
  })
})

describe('differences', () => {
  test('words that only one side has are marked, and each side keeps its text', () => {
    const left = 'The trip to Ghent costs 20 euros.'
    const right = 'The trip to Bruges costs 20 euros today.'
    const pieces = wordDiff(left, right)
    expect(pieces).toEqual([
      { type: 'same', text: 'The trip to ' },
      { type: 'removed', text: 'Ghent ' },
      { type: 'added', text: 'Bruges ' },
      { type: 'same', text: 'costs 20 ' },
      { type: 'removed', text: 'euros' },
      { type: 'added', text: 'euros today' },
      { type: 'same', text: '.' },
    ])
    const side = (type: string): string =>
      pieces
        .filter((piece) => piece.type === 'same' || piece.type === type)
        .map(({ text }) => text)
        .join('')
    expect(side('removed')).toBe(left)
    expect(side('added')).toBe(right)
  })

  test('equal texts have one piece, and nothing has none', () => {
    expect(wordDiff('a b', 'a b')).toEqual([{ type: 'same', text: 'a b' }])
    expect(wordDiff('', '')).toEqual([])
    expect(wordDiff('', 'x')).toEqual([{ type: 'added', text: 'x' }])
  })

  test('texts that are too long to compare word by word differ as a whole between what they share', () => {
    const shared = 'shared '.repeat(3000)
    const pieces = wordDiff(`${shared}${'x '.repeat(3000)}z`, `${shared}${'y '.repeat(3000)}z`)
    expect(pieces.map(({ type }) => type)).toEqual(['same', 'removed', 'added', 'same'])
  })

  test('texts that share next to nothing are not cut into pieces', () => {
    expect(wordDiff('It is nine.', 'Take another train tomorrow.')).toEqual([
      { type: 'removed', text: 'It is nine.' },
      { type: 'added', text: 'Take another train tomorrow.' },
    ])
  })

  test('messages stand beside those that take their place', () => {
    const say = (role: Message['role'], content: string): Message => ({ role, content })
    const pairs = alignMessages(
      [say('user', 'hi'), say('assistant', 'A'), say('tool', 'x'), say('assistant', 'end')],
      [say('user', 'hi'), say('assistant', 'B'), say('assistant', 'end'), say('user', 'more')],
    )
    expect(pairs.map(({ left, right, isSame }) => [left?.content, right?.content, isSame])).toEqual(
      [
        ['hi', 'hi', true],
        ['A', 'B', false],
        ['x', undefined, false],
        ['end', 'end', true],
        [undefined, 'more', false],
      ],
    )
  })
})

describe('an answer', () => {
  const filtered: Message = { role: 'assistant', content: '', finishReason: 'content_filter' }

  test('has a mark that says why it ended', () => {
    const messages: Message[] = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'half', finishReason: 'length' },
      filtered,
      { role: 'assistant', content: 'whole' },
    ]
    const items = transcriptOf(Session.create({ id: 's', messages }))
    expect(items.map(({ marks }) => marks.map(({ label }) => label))).toEqual([
      [],
      ['cut at the length limit'],
      ['filtered'],
      [],
    ])
  })

  test('that was filtered differs from one that was not, and says so when they are compared', () => {
    expect(comparedText(filtered)).toBe('(filtered)')
    const [pair] = alignMessages([filtered], [{ role: 'assistant', content: '' }])
    expect(pair?.isSame).toBe(false)
    const [other] = alignMessages([{ ...filtered, agent: 'A' }], [{ ...filtered, agent: 'B' }])
    expect(other?.isSame).toBe(false)
  })

  test('names who gives it in the list of events', () => {
    const event = { type: 'message_started', requestId: 'r', provider: 'p', agent: 'Desk' } as const
    expect(summaryOf({ id: 1, at: 0, event }).text).toBe('Desk · p')
  })
})

describe('addresses', () => {
  test.each([
    { view: 'list' },
    { view: 'list', search: 'a b&c', status: 'error' },
    { view: 'run', id: 'a/b c?#', event: 12, tab: 'usage' },
    { view: 'run', id: 'ü', command: 3 },
    { view: 'compare', left: 'a/b', right: 'c' },
  ] as const)('a place is found again by its address: %j', (route) => {
    expect(parseRoute(routeFragment(route))).toEqual(route)
  })

  test.each(['', '#', '#/s/', '#/s/%E0%A4%A', '#/nothing/here', '#/compare/a'])(
    'an address that names nothing is the list: %j',
    (fragment) => {
      expect(parseRoute(fragment).view).toBe('list')
    },
  )

  test('the token is taken out of the address', () => {
    expect(takeToken('#token=a%20b')).toEqual({ token: 'a b', rest: '' })
    expect(takeToken('#/s/x?event=3&token=t')).toEqual({ token: 't', rest: '#/s/x?event=3' })
    expect(takeToken('#/s/x?token=t&event=3')).toEqual({ token: 't', rest: '#/s/x?event=3' })
    expect(takeToken('#/s/x')).toEqual({ rest: '#/s/x' })
  })
})

describe('figures', () => {
  test.each([
    [0, '0 ms'],
    [840, '840 ms'],
    [3240, '3.2 s'],
    [59_000, '59 s'],
    [62_000, '1 min 2 s'],
    [3_600_000, '1 h'],
    [90_000_000, '1 d'],
  ])('%d ms is %s', (ms, text) => {
    expect(duration(ms)).toBe(text)
  })

  test('counts, tokens, money and age are short', () => {
    expect([950, 1234, 34_000, 1_500_000].map(count)).toEqual(['950', '1.2k', '34k', '1.5M'])
    expect(tokens({ inputTokens: 1200, outputTokens: 3 })).toBe('1.2k → 3')
    expect(tokens({ outputTokens: 3 })).toBe('? → 3')
    expect(tokens({})).toBeUndefined()
    expect([0, 0.00424, 0.314, 12.4].map(cost)).toEqual(['$0', '$0.0042', '$0.31', '$12'])
    expect([500, 5000, 120_000, 7_200_000].map((ms) => age(0, ms))).toEqual([
      'now',
      '5 s',
      '2 min',
      '2 h',
    ])
  })

  test('the options of a question that are texts are choices', () => {
    expect(choicesOf({ choices: ['a', 'b'] })).toEqual(['a', 'b'])
    expect(choicesOf({ seats: [{ value: 'x' }, { label: 'y' }, 3] })).toEqual(['x', 'y'])
    expect(choicesOf({ many: 1 })).toEqual([])
    expect(choicesOf(undefined)).toEqual([])
  })

  test('a row of an answer without words has no sign that waits for some', () => {
    const message = { role: 'assistant', content: '' } as const
    const event = { type: 'message_completed', finishReason: 'tool_calls', message } as const
    expect(summaryOf({ id: 1, at: 0, event }).text).toBe('tool_calls')
  })

  test('what nobody settled in time has expired, and no person of that name did it', async () => {
    const limit = { expiresInMs: 1000 }
    const schema = { type: 'object' }
    const tools = [
      tool({ name: 'pay', description: '', schema, needsApproval: limit, handler: () => 'paid' }),
      tool({ name: 'ask', description: '', schema, handler: () => askUser('How?', limit) }),
    ]
    const script = tools.map(({ name }) => ['tool_call', { id: name, name }] as const)
    const engine = createEngine({ adapter: fake({ script }), tools, clock: virtualClock() })
    const { session } = await Session.start(engine, 'go')
    const now = Math.max(...Session.pending(session).map(({ expiresAt = 0 }) => expiresAt))
    const calls = transcriptOf(Session.expire(session, now)).flatMap((item) => item.calls)
    expect(calls).toMatchObject([
      { state: 'denied', marks: [{ label: 'expired' }] },
      { state: 'done', marks: [{ label: 'expired' }] },
    ])
    const [entry] = logOf([0, { command: { type: 'deny', toolCallId: 'pay', by: 'expiry' } }])
    if (entry === undefined) throw new Error('there is an entry')
    expect(summaryOf(entry).text).toBe('pay · expired')
  })

  test('a row names a command and what it says', () => {
    const [entry] = logOf([0, send('Hello there')])
    if (entry === undefined) throw new Error('there is an entry')
    expect(summaryOf(entry)).toMatchObject({ name: 'send', tone: 'person', text: 'Hello there' })
  })
})

describe('the list', () => {
  const item = (
    id: string,
    updatedAt: number,
    origin?: string,
  ): Parameters<typeof arranged>[0][number] => ({
    id,
    status: 'completed',
    running: false,
    updatedAt,
    title: id,
    turns: 1,
    messages: 2,
    usage: {},
    models: [],
    ...(origin !== undefined && { forkOf: { id: origin, changes: [], engine: 'fake' } }),
  })
  const shown = (items: Parameters<typeof arranged>[0]): string[] =>
    arranged(items).map(({ item: { id }, depth }) => `${'>'.repeat(depth)}${id}`)

  test('forks stand below their origin, where the newest of the family would', () => {
    expect(shown([item('f2', 9, 'f1'), item('x', 8), item('f1', 7, 'a'), item('a', 1)])).toEqual([
      'a',
      '>f1',
      '>>f2',
      'x',
    ])
  })

  test('a fork whose origin is not loaded stands by itself, and a circle loses nobody', () => {
    expect(shown([item('f', 2, 'gone'), item('a', 1)])).toEqual(['f', 'a'])
    expect(shown([item('a', 2, 'b'), item('b', 1, 'a')]).toSorted()).toHaveLength(2)
  })

  test('a refresh brings what is new, drops what is gone, and keeps what was not read again', () => {
    const known = [item('c', 3), item('b', 2), item('a', 1)]
    const ids = (items: readonly { readonly id: string }[]): string[] => items.map(({ id }) => id)
    expect(ids(refreshed(known, [item('d', 4), item('b', 2)], false))).toEqual(['d', 'b', 'a'])
    expect(ids(refreshed(known, [item('d', 4)], true))).toEqual(['d'])
  })
})
