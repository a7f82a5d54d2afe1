import type { JsonObject } from '../../core/types/json.ts'
import type { Message, Part } from '../../core/types/message.ts'
import type { ModelRequest, ToolSpec } from '../../core/types/request.ts'
import type { ChatCapability } from './cases.ts'
import { demand, show, type ContractName } from './demands.ts'
import {
  declares,
  eventsOfType,
  foldEvents,
  hello,
  play,
  read,
  readEvents,
  requestOf,
  weatherTool,
  type ChatCase,
  type ChatFixture,
  type ChatHarness,
} from './harness.ts'
import { changesOf, isBefore, placesOf, readSent, type Sent } from './sent.ts'
import { isCallRecord } from './stream-requests.ts'

/** What is easily lost of a request: characters, repetitions, sizes, turns without text, and what belongs to one part alone. */
export const requestDetailCases: readonly ChatCase[] = [
  {
    name: 'every character of a text is sent as it is',
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const contents = odd.map(([, text]) => `odd ${text} end`)
        const messages = contents.map((content, at): Message => ({
          role: at % 2 === 0 ? 'user' : 'assistant',
          content,
        }))
        const sent = await sentFor(fixture, [...messages, { role: 'user', content: 'Go on.' }])
        for (const [at, [name]] of odd.entries()) {
          demand(placesOf(sent, contents[at] ?? '').length === 1, {
            problem: `${name} in a text was changed`,
            expected: `${JSON.stringify(contents[at])} once in the request`,
            received: sent.leaves.flatMap(({ value }) =>
              typeof value === 'string' && value.includes('odd') ? [value] : [],
            ),
            contract: 'messages',
          })
        }
      }),
  },
  {
    name: 'messages that are equal are all sent',
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const again: Message = { role: 'user', content: 'say it again' }
        const sent = await sentFor(fixture, [
          again,
          { role: 'assistant', content: 'it' },
          again,
          again,
        ])
        const count = placesOf(sent, 'say it again').length
        demand(count === 3, {
          problem: `a message that the request has 3 times was sent ${count} times`,
          expected: 'every message, also one that equals its neighbour',
          received: sent.tree,
          contract: 'messages',
        })
      }),
  },
  {
    name: 'an answer without content is left out',
    capability: 'requests',
    async run(harness) {
      const record = (blank: readonly Message[]): Promise<Sent | undefined> =>
        play(harness, hello, async (fixture) => {
          if (isCallRecord(fixture)) return undefined
          return sentFor(fixture, [
            { role: 'user', content: 'a question that was filtered' },
            ...blank,
            { role: 'user', content: 'another question' },
            ...blank,
          ])
        })
      const whole = await record([])
      const sent = await record([
        { role: 'assistant', content: '', finishReason: 'content_filter' },
      ])
      if (whole === undefined || sent === undefined) return
      const [change] = changesOf(whole, sent)
      demand(change === undefined, {
        problem: 'an answer without content and calls was sent',
        expected: 'the same request as without it',
        received: change,
        contract: 'blank',
      })
    },
  },
  {
    name: 'a long conversation is sent whole',
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const texts = Array.from({ length: 41 }, (_, at) => `turn number ${at} of many`)
        const messages = texts.map((content, at): Message => ({
          role: at % 2 === 0 ? 'user' : 'assistant',
          content,
        }))
        const sent = await sentFor(fixture, messages)
        demandAll(sent, texts, 'messages')
      }),
  },
  {
    name: 'many tools are sent whole',
    capability: 'tools',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const tools = Array.from({ length: 24 }, (_, at): ToolSpec => ({
          ...weatherTool,
          name: `tool_${at}_of_many`,
          description: `The tool number ${at} of many.`,
        }))
        const request = requestOf(fixture, [{ role: 'user', content: 'Which?' }], tools)
        await readEvents(fixture, { request })
        const sent = readSent(fixture.requests())
        demandAll(
          sent,
          tools.flatMap(({ name, description }) => [name, description]),
          'toolsSent',
        )
      }),
  },
  {
    name: 'a turn of calls without a text, and a result without one, are sent',
    capability: 'tools',
    async run(harness) {
      const record = (result: string): Promise<Sent> =>
        play(harness, hello, async (fixture) => {
          await readEvents(fixture, { request: silentCalls(fixture, result) })
          return readSent(fixture.requests())
        })
      const filled = await record('a result in words')
      const empty = await record('')
      for (const sent of [filled, empty]) demandAll(sent, ['Reykjavik', 'Nuuk'], 'callsSent')
      demand(links(empty) === links(filled), {
        problem: 'a result without a text was not sent',
        expected: 'a result for every call, also an empty one',
        received: empty.tree,
        contract: 'callsSent',
        hint: 'a provider refuses a conversation in which a call has no result',
      })
    },
  },
  {
    name: 'the options of a message, a part and a tool are sent',
    capability: 'part_options',
    async run(harness) {
      for (const place of optionPlaces) {
        if (place.capability !== undefined && !declares(harness, place.capability)) continue
        await play(harness, hello, async (fixture) => {
          const { provider } = fixture.adapter
          const own = { [provider]: { conformance_option: `an option of a ${place.name}` } }
          const { events, failure } = await read(fixture, { request: place.request(fixture, own) })
          // A call that is refused before it is sent was not made without the option.
          if (failure !== undefined && fixture.requests().length === 0) return
          const [started] = eventsOfType(events, 'message_started')
          if (started?.warnings?.some(({ setting }) => setting.includes('providerOptions'))) return
          const sent = readSent(fixture.requests())
          demand(placesOf(sent, `an option of a ${place.name}`).length > 0, {
            problem: `the options of a ${place.name} were dropped without a word`,
            expected: `providerOptions[${JSON.stringify(provider)}] of a ${place.name} in the request, or providerOptions in warnings`,
            received: sent.tree,
            contract: 'ownOptions',
          })
        })
      }
    },
  },
]

/** Characters that are changed by normalizing, cleaning or escaping, by what they are. */
const odd: readonly (readonly [name: string, text: string])[] = [
  ['a carriage return', 'one\r\ntwo\rthree'],
  ['a letter with a combining accent', 'e\u0301 and \u00E9'],
  ['a ligature or a wide letter', '\uFB01 \uFF21 \u2460'],
  ['an entity', '&amp; &lt;b&gt; %20 \\n'],
  ['an emoji', '\u{1F469}\u200D\u{1F680} \u{1F1EB}\u{1F1F7}'],
  ['a row of spaces', 'a   b\t\tc'],
]

async function sentFor(fixture: ChatFixture, messages: readonly Message[]): Promise<Sent> {
  await readEvents(fixture, { request: requestOf(fixture, messages) })
  return readSent(fixture.requests())
}

/** Demands that every text was sent, and that they are in their order where each was sent once. */
function demandAll(sent: Sent, texts: readonly string[], contract: ContractName): void {
  const missing = texts.filter((text) => placesOf(sent, text).length === 0)
  demand(missing.length === 0, {
    problem: `${missing.length} of ${texts.length} were not sent: ${show(missing[0])}`,
    expected: 'all of them, however many there are',
    received: sent.tree,
    contract,
  })
}

function silentCalls(fixture: ChatFixture, result: string): ModelRequest {
  const calls = [
    { id: 'call_reykjavik', name: 'weather', arguments: { city: 'Reykjavik' } },
    { id: 'call_nuuk', name: 'weather', arguments: { city: 'Nuuk' } },
  ]
  return requestOf(
    fixture,
    [
      { role: 'user', content: 'How is the weather there?' },
      { role: 'assistant', content: '', toolCalls: calls },
      { role: 'tool', content: 'rain', toolCallId: 'call_reykjavik' },
      { role: 'tool', content: result, toolCallId: 'call_nuuk' },
    ],
    [weatherTool],
  )
}

/** How often the id of the second call, or the name of its tool, was sent. */
function links({ leaves }: Sent): number {
  return leaves.filter(({ value }) => value === 'call_nuuk' || value === 'weather').length
}

interface OptionPlace {
  readonly name: string
  readonly capability?: ChatCapability
  request(fixture: ChatFixture, own: Readonly<Record<string, JsonObject>>): ModelRequest
}

const optionPlaces: readonly OptionPlace[] = [
  {
    name: 'message',
    request: (fixture, providerOptions) =>
      requestOf(fixture, [{ role: 'user', content: 'Hello', providerOptions }]),
  },
  {
    name: 'part',
    request: (fixture, providerOptions) =>
      requestOf(fixture, [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hello', providerOptions },
            { type: 'text', text: 'there' },
          ],
        },
      ]),
  },
  {
    name: 'tool',
    capability: 'tools',
    request: (fixture, providerOptions) =>
      requestOf(
        fixture,
        [{ role: 'user', content: 'Hello' }],
        [{ ...weatherTool, providerOptions }],
      ),
  },
]

/** Some bytes of several kinds, as base64. */
const pictures = {
  png: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  jpeg: '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AVN//2Q==',
  pdf: 'JVBERi0xLjQKJSBhbm90aGVyIHNtYWxsIGZpbGUgZm9yIHRoZSBraXQK',
}

/** Images and files in every place where a message may have them: sent, or refused before anything is sent. */
export const mediaDetailCases: readonly ChatCase[] = [
  {
    name: 'several images are sent, each with its type, also in earlier messages',
    capability: 'image_input',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const sent = await sentFor(fixture, [
          { role: 'user', content: [text('the first look'), png, text('and then'), jpeg] },
          { role: 'assistant', content: 'I have seen both.' },
          { role: 'user', content: 'Which one is larger?' },
        ])
        demandAll(sent, [pictures.png, pictures.jpeg], 'mediaSent')
        const [first, second] = [pictures.png, pictures.jpeg].map((data) => placesOf(sent, data)[0])
        const isOrdered = first !== undefined && second !== undefined && isBefore(first, second)
        const types = ['image/png', 'image/jpeg'].filter((type) => placesOf(sent, type).length > 0)
        demand(isOrdered && types.length === 2, {
          problem: isOrdered
            ? `of two images of different types, only ${show(types)} was named`
            : 'the images were sent in another order',
          expected: 'image/png with the first image, image/jpeg with the second',
          received: sent.leaves.map(({ path, value }) => [path.join('.'), show(value)]),
          contract: 'mediaSent',
        })
      }),
  },
  {
    name: 'media that a message has is sent, or the call is refused',
    capability: 'image_input',
    async run(harness) {
      for (const { name, word, messages } of placesOfMedia(harness)) {
        await play(harness, hello, async (fixture) => {
          const { failure } = await read(fixture, { request: messages(fixture) })
          if (failure !== undefined && fixture.requests().length === 0) return
          const sent = readSent(fixture.requests())
          demand(placesOf(sent, word).length > 0, {
            problem: `${name} was dropped without a word`,
            expected:
              'it in the request, or AdapterError unsupported_feature before anything is sent',
            received: sent.tree,
            contract: 'mediaSent',
            hint: 'an answer to a question about something that was not sent is made up',
          })
        })
      }
    },
  },
]

function text(words: string): Part {
  return { type: 'text', text: words }
}

const png: Part = {
  type: 'image',
  image: { type: 'base64', base64: pictures.png, mimeType: 'image/png' },
}
const jpeg: Part = {
  type: 'image',
  image: { type: 'base64', base64: pictures.jpeg, mimeType: 'image/jpeg' },
}

interface MediaPlace {
  readonly name: string
  /** What is looked for in the request. */
  readonly word: string
  readonly messages: (fixture: ChatFixture) => ModelRequest
}

function placesOfMedia(harness: ChatHarness): readonly MediaPlace[] {
  const url = 'https://example.com/conformance.png'
  const file = { type: 'base64', base64: pictures.jpeg, mimeType: 'image/jpeg' } as const
  const pdf = { type: 'base64', base64: pictures.pdf, mimeType: 'application/pdf' } as const
  const places: MediaPlace[] = [
    {
      name: 'an image by its URL',
      word: url,
      messages: asked({ type: 'image', image: { type: 'url', url } }),
    },
    {
      name: 'an image as a file',
      word: pictures.jpeg,
      messages: asked({ type: 'file', file }),
    },
    {
      name: 'a PDF',
      word: pictures.pdf,
      messages: asked({ type: 'file', file: { ...pdf, name: 'kit.pdf' } }),
    },
  ]
  if (!declares(harness, 'tools')) return places
  return [...places, { name: 'an image in a result', word: pictures.png, messages: imageInResult }]
}

function asked(part: Part): MediaPlace['messages'] {
  return (fixture) => requestOf(fixture, [{ role: 'user', content: [text('What is it?'), part] }])
}

function imageInResult(fixture: ChatFixture): ModelRequest {
  return requestOf(
    fixture,
    [
      { role: 'user', content: 'Show me the sky.' },
      {
        role: 'assistant',
        content: 'Look.',
        toolCalls: [{ id: 'call_sky', name: 'weather', arguments: { city: 'Oslo' } }],
      },
      { role: 'tool', content: [text('a picture'), png], toolCallId: 'call_sky' },
    ],
    [weatherTool],
  )
}

/** Reasoning that goes back to its provider. */
export const echoDetailCases: readonly ChatCase[] = [
  {
    name: 'all reasoning of an answer goes back, in its place',
    capability: 'reasoning_echo',
    async run(harness) {
      const seals = ['Zmlyc3Qtc2VhbA==', 'c2Vjb25kLXNlYWw=']
      const message = await play(
        harness,
        [
          ['reasoning', '  a first thought \n', { opaque: seals[0] ?? '' }],
          ['text', 'a first remark'],
          ['reasoning', 'a second thought', { opaque: seals[1] ?? '' }],
          ['text', 'the answer to it'],
          ['finish', 'stop'],
        ],
        async (fixture) => foldEvents(await readEvents(fixture)).message,
      )
      const parts = typeof message.content === 'string' ? [] : message.content
      const thoughts = parts.filter((part) => part.type === 'reasoning')
      demand(
        thoughts.length === 2 &&
          thoughts.every(({ opaque }, at) => JSON.stringify(opaque).includes(seals[at] ?? '')),
        {
          problem: 'two thoughts with seals of their own were not kept apart',
          expected: 'two reasoning parts, each with its own opaque data',
          received: message,
          contract: 'reasoning',
        },
      )
      demand(thoughts[0]?.text === '  a first thought \n', {
        problem: `the reasoning ${JSON.stringify('  a first thought \n')} arrived as ${JSON.stringify(thoughts[0]?.text)}`,
        expected: 'the reasoning as it was written, white space included',
        received: message,
        contract: 'reasoning',
      })
      await play(harness, hello, async (fixture) => {
        const sent = await sentFor(fixture, [
          { role: 'user', content: 'Why?' },
          message,
          { role: 'user', content: 'And then?' },
        ])
        const [first = '', second = ''] = seals
        const [remark, answer] = ['a first remark', 'the answer to it']
        demandAll(sent, [first, remark, second, answer], 'echo')
        // A format may have the thoughts of a message in a list of their own.
        const pairs = [
          [first, second],
          [first, remark],
          [second, answer],
          [remark, answer],
        ] as const
        const isOrdered = pairs.every(([one, other]) => {
          const [before] = placesOf(sent, one)
          const [after] = placesOf(sent, other)
          return before !== undefined && after !== undefined && isBefore(before, after)
        })
        demand(isOrdered, {
          problem: 'reasoning was sent back in another order',
          expected: 'each thought before the text that followed it',
          received: sent.tree,
          contract: 'echo',
        })
      })
    },
  },
]
