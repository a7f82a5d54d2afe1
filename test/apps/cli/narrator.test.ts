import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { styleFor } from '../../../src/apps/cli/io.ts'
import { eventFacts, narrator } from '../../../src/apps/cli/narrator.ts'
import { eventTypes, type StreamEvent } from '../../../src/index.ts'

const message = { role: 'assistant', content: 'Hi.' } as const

const usage = { inputTokens: 3, outputTokens: 2 }

const response = {
  warnings: [],
  requestId: 'r1',
  provider: 'fake',
  message,
  outputText: 'Hi.',
  toolCalls: [],
  finishReason: 'stop',
  usage,
  metadata: {},
} as const

const result = {
  outputText: 'Hi.',
  steps: [],
  haltedReason: 'completed',
  pendingApprovals: [],
  manualToolCalls: [],
  usage,
  metadata: {},
}

const failure = { kind: 'tool', reason: 'timeout', message: 'slow' } as const

const call = { id: 'c1', name: 'weather', arguments: { city: 'Ghent' } }

/** An event of each kind, what a line of `--events` says of it, and what a chat shows. */
const rows: readonly (readonly [StreamEvent, string, string])[] = [
  [{ type: 'message_started', requestId: 'r1', provider: 'fake', model: 'm' }, 'fake m', ''],
  [
    { type: 'message_started', requestId: 'r1', provider: 'fake', model: 'm', agent: 'Desk\u0007' },
    'Desk\u0007 fake m',
    'Desk:\n',
  ],
  [{ type: 'text_delta', delta: 'Hi' }, '"Hi"', 'Hi\n'],
  [{ type: 'text_completed', text: 'Hi.' }, '"Hi."', ''],
  [{ type: 'reasoning_delta', delta: 'Hm' }, '"Hm"', '(thinks) Hm\n'],
  [{ type: 'reasoning_completed', text: 'Hm.' }, '"Hm."', ''],
  [
    { type: 'reasoning_completed', text: '', item: { type: 'web_search_call' } },
    '{"type":"web_search_call"}',
    '  · "web_search_call"\n',
  ],
  [{ type: 'tool_call_started', id: 'c1', name: 'weather' }, 'weather c1', ''],
  [{ type: 'tool_call_delta', id: 'c1', argumentsDelta: '{' }, 'c1 "{"', ''],
  [{ type: 'tool_call_completed', call }, 'weather c1 {"city":"Ghent"}', ''],
  [
    { type: 'image_completed', image: { type: 'url', url: 'https://example.com/a.png' } },
    'url',
    '  [image] https://example.com/a.png\n',
  ],
  [{ type: 'raw_chunk', chunk: { a: 1 } }, '{"a":1}', ''],
  [
    { type: 'message_completed', message, finishReason: 'stop', usage },
    'stop · 3 in, 2 out tokens',
    '',
  ],
  [
    { type: 'message_completed', message, finishReason: 'length' },
    'length',
    '  (cut at the length limit)\n',
  ],
  [
    { type: 'message_completed', message, finishReason: 'other', metadata: { paused: true } },
    'other',
    '',
  ],
  [
    {
      type: 'message_completed',
      message: {
        ...message,
        sources: [
          { type: 'url', url: 'https://example.com', title: 'A page', start: 0, end: 1 },
          { type: 'url', url: 'https://example.com', title: 'A page', start: 1, end: 2 },
          { type: 'file', title: 'a.pdf' },
          { type: 'file', text: 'a passage' },
        ],
      },
      finishReason: 'stop',
    },
    'stop',
    '  [1] A page https://example.com\n  [2] a.pdf\n  [3] "a passage"\n',
  ],
  [
    { type: 'error', error: { kind: 'stream', reason: 'cancelled', message: 'stopped' } },
    'cancelled: stopped',
    '  (stopped; the text so far is kept)\n',
  ],
  [
    {
      type: 'approval_requested',
      toolCallId: 'c1',
      toolName: 'pay',
      call: { id: 'c1', name: 'pay', arguments: { amount: 5 } },
    },
    'pay {"amount":5}',
    '',
  ],
  [
    { type: 'tool_execution_started', id: 'c1', name: 'weather', arguments: { city: 'Ghent' } },
    'weather {"city":"Ghent"}',
    '  · weather {"city":"Ghent"}\n',
  ],
  [{ type: 'tool_progress', id: 'c1', name: 'pay', data: 0.5 }, 'pay 0.5', ''],
  [
    {
      type: 'tool_execution_completed',
      id: 'c1',
      name: 'weather',
      result: { error: failure },
      durationMs: 12,
    },
    'weather 12 ms {"error":{"kind":"tool","reason":"timeout","message":"slow"}}',
    '  ✗ weather 12 ms slow\n',
  ],
  [{ type: 'tool_result_encoded', id: 'c1', content: '21' }, 'c1 "21"', ''],
  [
    {
      type: 'ask_user_requested',
      toolCallId: 'c1',
      toolName: 'ask',
      question: 'When?',
      options: {},
    },
    '"When?"',
    '',
  ],
  [
    { type: 'tool_halt', toolCallId: 'c1', reason: 'booked', result: 4, content: '4' },
    'booked 4',
    '',
  ],
  [
    { type: 'step_completed', response, newMessages: [message], manualToolCalls: [], mode: 'auto' },
    '1 messages added',
    '',
  ],
  [{ type: 'chat_completed', result }, 'completed', ''],
]

const plain = styleFor({ isTTY: false } as NodeJS.WriteStream, {})

describe.each(rows)('$type', (event, facts, shown) => {
  test('has its facts in a line', () => {
    expect(eventFacts(event)).toBe(facts)
  })

  test('is told to people where it matters to them', () => {
    let text = ''
    const teller = narrator({ write: (piece) => (text += piece), style: plain, env: {} })
    teller.show(event)
    teller.endLine()
    expect(text).toBe(shown)
  })
})

test('no event is left out', () => {
  expect(Array.from(new Set(rows.map(([{ type }]) => type)))).toEqual(eventTypes)
})

test('a failure that is not a stop says what to do', () => {
  let text = ''
  const teller = narrator({ write: (piece) => (text += piece), style: plain, env: {} })
  teller.show({ type: 'text_delta', delta: 'half' })
  const error = {
    kind: 'adapter',
    reason: 'rate_limited',
    message: 'slow',
    provider: 'openai',
  } as const
  teller.show({ type: 'error', error })
  expect(text).toBe('half\n! openai: rate_limited: slow; wait a little, then try again\n')
})

test('colours are for terminals, and not where NO_COLOR is set', () => {
  const terminal = { isTTY: true } as NodeJS.WriteStream
  expect(styleFor(terminal, {}).bad('x')).toBe('\u001B[31mx\u001B[39m')
  expect(styleFor(terminal, { NO_COLOR: '1' }).bad('x')).toBe('x')
})

describe('on a terminal', () => {
  /** What a narrator writes after each piece of a text, and at the end. */
  function written(pieces: readonly string[], columns: number | undefined, lead = ''): string[] {
    const texts: string[] = []
    let text = ''
    const write = (more: string): void => void (text += more)
    const style = styleFor(new PassThrough(), {})
    const output = narrator({ write, style, env: {}, lead, columns: () => columns })
    for (const delta of pieces) {
      output.show({ type: 'text_delta', delta })
      texts.push(text)
    }
    output.endLine()
    return [...texts, text]
  }

  test.each<[string, readonly string[], number | undefined, string, string]>([
    ['without columns', ['a b', ' c'.repeat(60)], undefined, '', `a b${' c'.repeat(60)}\n`],
    [
      'between words',
      ['The quick brown ', 'fox jumps over'],
      20,
      '',
      'The quick brown fox\njumps over\n',
    ],
    [
      'a word in pieces',
      ['The quick brown f', 'oxgl', 'ove x'],
      20,
      '',
      'The quick brown\nfoxglove x\n',
    ],
    [
      'below the lead',
      ['The quick brown fox'],
      20,
      'model  ',
      'model  The quick\n       brown fox\n',
    ],
    ['a line that is just full', ['aaaa bbbb ', 'cccc dddd'], 9, '', 'aaaa bbbb\ncccc dddd\n'],
    ['lines of the text', ['a\n\n', 'b ', '\n c'], 20, '', 'a\n\nb \n c\n'],
    [
      'a word that is longer than a line',
      ['a ', 'x'.repeat(50), ' b'],
      20,
      '',
      `a\n${'x'.repeat(50)} b\n`,
    ],
  ])('text is broken %s', (_name, pieces, columns, lead, expected) => {
    expect(written(pieces, columns, lead).at(-1)).toBe(expected)
  })

  test('a word is shown as it comes, unless it might not fit into its line', () => {
    expect(written(['Hel', 'lo'], 80)).toEqual(['Hel', 'Hello', 'Hello\n'])
    expect(written(['a'.repeat(14), ' b', 'c'], 20)).toEqual([
      'a'.repeat(14),
      'a'.repeat(14),
      'a'.repeat(14),
      `${'a'.repeat(14)} bc\n`,
    ])
  })

  test('a script without spaces is not held back', () => {
    const text = '\u6F22\u5B57'.repeat(40)
    const [first = '', second = ''] = written([text, text], 20)
    expect([first.replaceAll('\n', ''), second.replaceAll('\n', '')]).toEqual([text, text + text])
  })
})
