import { json } from '../../core/schema/checks.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import { keysOf } from '../../core/types/guards.ts'
import type { Message, Part } from '../../core/types/message.ts'
import {
  usageFields,
  type FinishReason,
  type ModelResponse,
  type Usage,
} from '../../core/types/response.ts'
import type { Script } from '../fakes/script.ts'
import type { ChatCapability } from './cases.ts'
import { demand, show, within, type Wait } from './demands.ts'
import {
  declares,
  eventsOfType,
  foldEvents,
  hello,
  joinedDeltas,
  openStream,
  play,
  readEvents,
  requestOf,
  runId,
  showEvents,
  weatherCall,
  weatherRequest,
  type ChatCase,
  type ChatHarness,
  type StartOptions,
} from './harness.ts'
import { differenceOf, readSent } from './sent.ts'

/** Characters of one, two, three and four bytes, some of them combined. */
const unicode = 'plain, é, ß, €, 漢字, 🦜, 👩‍👩‍👧, \u{1F1EB}\u{1F1F7}, "quoted" and \\ back\nnew line'

const twoBlocks: Script = [
  ['text', 'Let me look.'],
  ['tool_call', { id: 'call_1', name: 'weather', arguments: { city: 'Paris' } }],
  ['text', 'Done.'],
  ['finish', 'tool_calls'],
]

/** The text of an answer, and how it ends. */
export const textCases: readonly ChatCase[] = [
  {
    name: 'text arrives as deltas that add up to it',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const text = joinedDeltas(await readEvents(fixture), 'text_delta')
        demand(text === 'Hello', {
          expected: 'text_delta events that add up to "Hello"',
          received: text,
          contract: 'text',
        })
      }),
  },
  {
    name: 'text_completed holds all of its block',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const completed = eventsOfType(await readEvents(fixture), 'text_completed')
        demand(completed.length === 1 && completed[0]?.text === 'Hello', {
          expected: 'one text_completed with the text "Hello"',
          received: completed,
          contract: 'text',
        })
      }),
  },
  {
    name: 'message_completed says what the deltas said',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const { message, outputText } = foldEvents(await readEvents(fixture))
        demand(message.role === 'assistant' && outputText === 'Hello', {
          expected: 'an assistant message with the text of the deltas, "Hello"',
          received: message,
          contract: 'text',
        })
      }),
  },
  {
    name: 'an answer without text is an answer',
    run: (harness) =>
      play(harness, [['finish', 'stop']], async (fixture) => {
        const events = await readEvents(fixture)
        const { outputText, error } = foldEvents(events)
        demand(error === undefined && outputText === '' && events.length > 0, {
          expected: 'message_started and message_completed, with no text between them',
          received: showEvents(events),
          contract: 'oneEnd',
        })
      }),
  },
  {
    name: 'whitespace is kept',
    async run(harness) {
      for (const pieces of [
        ['  \n', ' two', ' ', 'spaces', '\n\n', '\tend \n'],
        [' ', '\n'],
      ]) {
        const script: Script = pieces.map((piece) => ['text', piece] as const)
        await play(harness, script, async (fixture) => {
          const events = await readEvents(fixture)
          const deltas = joinedDeltas(events, 'text_delta')
          const { outputText } = foldEvents(events)
          const whole = pieces.join('')
          demand(deltas === whole && outputText === whole, {
            problem: `the text ${JSON.stringify(whole)} arrived as ${JSON.stringify(deltas === whole ? outputText : deltas)}`,
            expected: 'the text with all its spaces and lines, in the deltas and in the message',
            received: { deltas, outputText },
            contract: 'text',
          })
        })
      }
    },
  },
  {
    name: 'characters that the bytes are cut through arrive whole',
    capability: 'chunking',
    async run(harness) {
      for (const [seed, maxBytes] of [1, 2, 3, 5, 8, 64].entries()) {
        const cut = { chunking: { seed, maxBytes } }
        await play(
          harness,
          [['text', unicode]],
          async (fixture) => {
            const { outputText } = foldEvents(await readEvents(fixture))
            demand(outputText === unicode, {
              expected: `${show(unicode)}, cut into pieces of up to ${maxBytes} bytes`,
              received: outputText,
              contract: 'text',
              hint: 'decode with one TextDecoder and {stream: true}, and parse an event only when it is complete',
            })
          },
          cut,
        )
      }
    },
  },
  {
    name: 'the same bytes in other pieces are the same answer',
    capability: 'chunking',
    async run(harness) {
      const isUsing = (capability: ChatCapability): boolean =>
        harness.capabilities?.includes(capability) === true
      const script: Script = [
        ['text', 'One '],
        ['text', 'moment.\n'],
        ...(isUsing('tools') ? weatherCall.slice(0, 1) : []),
        ...(isUsing('usage') ? ([['usage', { inputTokens: 100, outputTokens: 20 }]] as const) : []),
      ]
      const folded = (options: Pick<StartOptions, 'chunking'>): Promise<ModelResponse> =>
        play(
          harness,
          script,
          async (fixture) =>
            foldEvents(await readEvents(fixture, { request: weatherRequest(fixture) })),
          options,
        )
      const { id: _id, ...whole } = await folded({})
      for (const [seed, maxBytes] of [1, 7, 40].entries()) {
        const { id: _other, ...cut } = await folded({ chunking: { seed, maxBytes } })
        const difference = differenceOf(whole, cut)
        demand(difference === undefined, {
          problem: `an answer in pieces of up to ${maxBytes} bytes is another answer: ${difference ?? ''}`,
          expected: 'the same response, however its bytes are cut',
          received: difference,
          contract: 'text',
          hint: 'keep what is incomplete for the next read',
        })
      }
    },
  },
  {
    name: 'text blocks stay apart',
    capability: 'text_blocks',
    run: (harness) =>
      play(harness, twoBlocks, async (fixture) => {
        const events = await readEvents(fixture, { request: weatherRequest(fixture) })
        const blocks = eventsOfType(events, 'text_completed').map(({ text }) => text)
        const { outputText } = foldEvents(events)
        demand(show(blocks) === show(['Let me look.', 'Done.']) && outputText === blocks.join(''), {
          expected:
            'text_completed "Let me look." and text_completed "Done.", and both in the message',
          received: { blocks, outputText },
          contract: 'text',
        })
      }),
  },
  {
    name: 'a message in parts has a part for each block, in their order',
    capability: 'text_blocks',
    run(harness) {
      const thought: Script = declares(harness, 'reasoning') ? [['reasoning', 'Hm.']] : []
      return play(harness, [...thought, ...twoBlocks], async (fixture) => {
        const events = await readEvents(fixture, { request: weatherRequest(fixture) })
        const { content } = foldEvents(events).message
        const parts = typeof content === 'string' ? [] : content.flatMap(partWords)
        const blocks = ['text Let me look.', 'text Done.']
        const expected = thought.length === 0 ? blocks : ['reasoning Hm.', ...blocks]
        const isJoined = thought.length === 0 && content === 'Let me look.Done.'
        demand(isJoined || show(parts) === show(expected), {
          expected: `the parts ${expected.join(', ')}${thought.length === 0 ? ', or both texts joined' : ''}`,
          received: content,
          contract: 'foldsToMessage',
        })
      })
    },
  },
  finishes('stop', 'an answer that ends by itself finishes with stop'),
  finishes('length', 'an answer that was cut off for its length finishes with length'),
  finishes('content_filter', 'an answer that was filtered finishes with content_filter'),
  finishes('other', 'an answer that ends in a way of its own finishes with other'),
]

/** A block of text or reasoning. Items of the provider may stand between them. */
function partWords(part: Part): readonly string[] {
  return 'text' in part ? [`${part.type} ${part.text}`] : []
}

function finishes(reason: FinishReason, name: string): ChatCase {
  return {
    name,
    ...(reason === 'stop' ? {} : { capability: 'finish_reasons' }),
    run: (harness) =>
      play(
        harness,
        [
          ['text', 'so far'],
          ['finish', reason],
        ],
        async (fixture) => {
          const includeRawChunks = harness.capabilities?.includes('raw_chunks') === true
          const events = await readEvents(fixture, { options: { includeRawChunks } })
          const [end] = eventsOfType(events, 'message_completed')
          demand(end?.finishReason === reason, {
            problem: `an answer that finished with ${reason} was reported as ${end?.finishReason ?? 'a failure'}`,
            expected: `finishReason ${show(reason)}`,
            received: end?.finishReason ?? showEvents(events),
            contract: 'finish',
          })
          // A fake has no words of its own.
          const hasWords = reason === 'other' && fixture.adapter.provider !== 'fake'
          demand(!hasWords || end.rawFinishReason !== undefined, {
            problem: 'the word of the provider for the end of the answer was lost',
            expected: 'rawFinishReason with the word of the provider',
            received: end,
            contract: 'rawFinish',
          })
          const chunks = JSON.stringify(eventsOfType(events, 'raw_chunk'))
          const word = end.rawFinishReason
          const isRaw = !includeRawChunks || word === undefined || chunks.includes(word)
          demand(isRaw, {
            problem: `rawFinishReason is ${show(word)}, which the provider did not send`,
            expected: 'rawFinishReason with the word of the provider',
            received: end,
            contract: 'rawFinish',
          })
        },
      ),
  }
}

const opaque = 'c2lnbmF0dXJlLW9mLXRoZS1yZWFzb25pbmc='

const thinking: Script = [
  ['reasoning', 'Two and two.', { opaque }],
  ['text', 'Four.'],
  ['finish', 'stop'],
]

/** The reasoning of a model. */
export const reasoningCases: readonly ChatCase[] = [
  {
    name: 'reasoning arrives as deltas that add up to it',
    capability: 'reasoning',
    run: (harness) =>
      play(harness, thinking, async (fixture) => {
        const events = await readEvents(fixture)
        const deltas = joinedDeltas(events, 'reasoning_delta')
        // An item of the provider's own travels in an event of this type, and is no reasoning.
        const completed = eventsOfType(events, 'reasoning_completed')
          .filter(({ item }) => item === undefined)
          .map(({ text }) => text)
        demand(deltas === 'Two and two.' && show(completed) === show([deltas]), {
          expected: 'reasoning_delta events and one reasoning_completed with "Two and two."',
          received: { deltas, completed },
          contract: 'reasoning',
        })
      }),
  },
  {
    name: 'reasoning is a part of the message, not of its text',
    capability: 'reasoning',
    run: (harness) =>
      play(harness, thinking, async (fixture) => {
        const { message, outputText } = foldEvents(await readEvents(fixture))
        const parts = typeof message.content === 'string' ? [] : message.content
        const thought = parts.find((part) => part.type === 'reasoning')
        const { provider } = fixture.adapter
        const complete = thought?.text === 'Two and two.' && thought.provider === provider
        demand(complete && outputText === 'Four.', {
          expected: `the text "Four." and a reasoning part "Two and two." of the provider ${show(provider)}`,
          received: message,
          contract: 'reasoning',
        })
      }),
  },
  {
    name: 'what the provider wants echoed goes back with the message',
    capability: 'reasoning_echo',
    async run(harness) {
      const message = await play(
        harness,
        thinking,
        async (fixture) => foldEvents(await readEvents(fixture)).message,
      )
      const sent = await sentAfter(harness, message)
      demand(
        readSent(sent).leaves.some(({ value }) => value === opaque),
        {
          expected: `${show(opaque)} in the request that holds the message`,
          received: sent,
          contract: 'echo',
          hint: 'keep the data that the provider sends with its reasoning in reasoning_completed.opaque and in the part, and send it back',
        },
      )
    },
  },
  {
    name: 'reasoning of another provider is not sent',
    capability: 'reasoning_echo',
    async run(harness) {
      const thought = { type: 'reasoning', text: 'a foreign thought', opaque, provider: 'another' }
      const message = { role: 'assistant', content: [thought, { type: 'text', text: 'Four.' }] }
      // The object literal has wider types than Message; its value is a valid message.
      const sent = await sentAfter(harness, message as Message)
      const text = JSON.stringify(sent)
      demand(!text.includes('a foreign thought') && !text.includes(opaque), {
        expected: 'neither the reasoning nor the opaque data of another provider in the request',
        received: sent,
        contract: 'echo',
      })
    },
  },
]

/** What is sent for a conversation that contains an answer. */
function sentAfter(harness: ChatHarness, answer: Message): Promise<readonly unknown[]> {
  return play(harness, hello, async (fixture) => {
    const request = requestOf(fixture, [
      { role: 'user', content: 'What is two and two?' },
      answer,
      { role: 'user', content: 'And three?' },
    ])
    await readEvents(fixture, { request })
    return fixture.requests()
  })
}

/** Which events an adapter may emit, and in which order. */
export const orderCases: readonly ChatCase[] = [
  {
    name: 'the first event is message_started',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const events = await readEvents(fixture)
        demand(events[0]?.type === 'message_started', {
          expected: 'message_started before everything else',
          received: showEvents(events),
          contract: 'started',
        })
      }),
  },
  {
    name: 'message_started names the run and the provider',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const events = await readEvents(fixture)
        const [started] = eventsOfType(events, 'message_started')
        const { provider } = fixture.adapter
        demand(started?.requestId === runId && started.provider === provider, {
          expected: `message_started with requestId ${show(runId)} and provider ${show(provider)}`,
          received: started,
          contract: 'started',
        })
      }),
  },
  {
    name: 'a stream ends with message_completed or error',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const events = await readEvents(fixture)
        demand(events.some(isEnd), {
          expected: 'message_completed at the end',
          received: showEvents(events),
          contract: 'oneEnd',
        })
      }),
  },
  {
    name: 'nothing follows the end of a stream',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const events = await readEvents(fixture)
        const end = events.findIndex(isEnd)
        demand(end === -1 || end === events.length - 1, {
          expected: 'nothing after the first message_completed or error',
          received: showEvents(events),
          contract: 'oneEnd',
        })
      }),
  },
  {
    name: 'a batch is a list of at least one event',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const stream = openStream(fixture)
        const expected = 'the stream to end'
        const wait: Wait = { ms: fixture.patienceMs, expected, contract: 'oneEnd' }
        for (;;) {
          const { done, value } = await within(stream.step(), wait)
          if (done === true) return
          demand(Array.isArray(value) && value.length > 0, {
            expected: 'a list of one event or more in each batch',
            received: value,
            contract: 'batches',
          })
        }
      }),
  },
  {
    name: 'events are plain JSON',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const events = await readEvents(fixture)
        for (const event of events) {
          const issues = json(event)
          demand(issues.length === 0, {
            expected: `plain JSON in ${event.type}`,
            received: issues.map(({ path, problem }) => `${path} ${problem}`.trim()).join('; '),
            contract: 'plainData',
          })
        }
      }),
  },
  {
    name: 'every event is one that an adapter may send',
    run: (harness) =>
      play(harness, declares(harness, 'tools') ? weatherCall : hello, async (fixture) => {
        const events = await readEvents(fixture, { request: weatherRequest(fixture) })
        const other = events.find(({ type }) => !modelEventTypes.has(type))
        demand(other === undefined, {
          expected: `events of the types ${[...modelEventTypes].join(', ')}`,
          received: other,
          contract: 'events',
        })
      }),
  },
]

function isEnd({ type }: { readonly type: string }): boolean {
  return type === 'message_completed' || type === 'error'
}

/** The events that need no option. The list does not compile when one is missing. */
const modelEventTypes: ReadonlySet<string> = new Set(
  keysOf<Record<Exclude<ModelEvent['type'], 'raw_chunk'>, true>>({
    message_started: true,
    text_delta: true,
    text_completed: true,
    reasoning_delta: true,
    reasoning_completed: true,
    tool_call_started: true,
    tool_call_delta: true,
    tool_call_completed: true,
    image_completed: true,
    message_completed: true,
    error: true,
  }),
)

const withRaw: Script = [
  ['text', 'Hello'],
  ['raw_chunk', { type: 'conformance_ping' }],
  ['finish', 'stop'],
]

/** One pixel. */
const base64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const withImage: Script = [
  [
    'ok',
    {
      message: {
        role: 'assistant',
        content: [{ type: 'image', image: { type: 'base64', mimeType: 'image/png', base64 } }],
      },
    },
  ],
]

/** Raw chunks and images. */
export const asideCases: readonly ChatCase[] = [
  {
    name: 'raw chunks come when they are asked for',
    capability: 'raw_chunks',
    run: (harness) =>
      play(harness, withRaw, async (fixture) => {
        const events = await readEvents(fixture, { options: { includeRawChunks: true } })
        const chunks = eventsOfType(events, 'raw_chunk').map(({ chunk }) => JSON.stringify(chunk))
        demand(
          chunks.some((chunk) => chunk.includes('conformance_ping')),
          {
            problem: 'a chunk of the provider was not shown',
            expected:
              'raw_chunk events for all that the provider sends, such as {"type":"conformance_ping"}',
            received: chunks,
            contract: 'events',
          },
        )
      }),
  },
  {
    name: 'raw chunks do not come unless they are asked for',
    run: (harness) =>
      play(harness, withRaw, async (fixture) => {
        const events = await readEvents(fixture)
        demand(eventsOfType(events, 'raw_chunk').length === 0, {
          expected: 'no raw_chunk event without includeRawChunks',
          received: showEvents(events),
          contract: 'events',
        })
      }),
  },
  {
    name: 'an image that the model makes arrives with its bytes',
    capability: 'images',
    run: (harness) =>
      play(harness, withImage, async (fixture) => {
        const events = await readEvents(fixture)
        const [completed] = eventsOfType(events, 'image_completed')
        const { image } = completed ?? {}
        const isWhole = image?.type === 'base64' && image.base64 === base64
        demand(isWhole && image.mimeType === 'image/png', {
          expected: `image_completed with the type image/png and the base64 ${base64}`,
          received: completed ?? showEvents(events),
          contract: 'images',
        })
      }),
  },
]

/** The usage of a call. Scripts count as this library does; a provider may count in another way. */
export const usageCases: readonly ChatCase[] = [
  counts('tokens are counted', 'usage', { inputTokens: 100, outputTokens: 20 }),
  counts('input includes what was read from a cache', 'cached_usage', {
    inputTokens: 100,
    outputTokens: 20,
    cachedInputTokens: 60,
  }),
  counts('input includes what was written to a cache', 'cache_write_usage', {
    inputTokens: 100,
    outputTokens: 20,
    cachedInputTokens: 60,
    cacheWriteInputTokens: 30,
  }),
  counts('output includes what was spent on reasoning', 'reasoning_usage', {
    inputTokens: 100,
    outputTokens: 20,
    reasoningTokens: 15,
  }),
  {
    name: 'usage that the provider did not report is not made up',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const { usage } = foldEvents(await readEvents(fixture))
        await demandNotInvented(harness, hello, {}, usage)
      }),
  },
  {
    name: 'a count that the provider did not report is not made up',
    capability: 'usage',
    async run(harness) {
      const reported: Usage = { inputTokens: 100, outputTokens: 20 }
      const script: Script = [
        ['text', 'Hello'],
        ['usage', reported],
        ['finish', 'stop'],
      ]
      await play(harness, script, async (fixture) => {
        const { usage } = foldEvents(await readEvents(fixture))
        await demandNotInvented(harness, script, reported, usage)
      })
    },
  },
]

/** Demands that a usage has only counts that were reported, and the sum of them. */
async function demandNotInvented(
  harness: ChatHarness,
  script: Script,
  reported: Usage,
  usage: Usage,
): Promise<void> {
  const { inputTokens = 0, outputTokens = 0 } = usage
  const unreported = usageFields.filter(
    (field) => usage[field] !== undefined && reported[field] === undefined,
  )
  const isSum = (field: string): boolean =>
    field === 'totalTokens' &&
    reported.inputTokens !== undefined &&
    usage.totalTokens === inputTokens + outputTokens
  const invented = unreported.find((field) => usage[field] !== 0 && !isSum(field))
  const zeros = unreported.filter((field) => usage[field] === 0)
  const made =
    invented ?? (zeros.length > 0 && !(await sendsZeros(harness, script)) ? zeros[0] : undefined)
  demand(made === undefined, {
    problem: `${made ?? ''} is ${show(made === undefined ? undefined : usage[made])}, and the provider did not report it`,
    expected: 'only counts that the provider sent',
    received: usage,
    contract: 'usage',
    hint: 'a count that was not reported is absent, not 0; if your provider always sends zeros, declare raw_chunks, so that the kit can see them',
  })
}

/** Whether the provider itself sends zeros, as its raw chunks show. */
async function sendsZeros(harness: ChatHarness, script: Script): Promise<boolean> {
  if (harness.capabilities?.includes('raw_chunks') !== true) return false
  return play(harness, script, async (fixture) => {
    const events = await readEvents(fixture, { options: { includeRawChunks: true } })
    const { leaves } = readSent(eventsOfType(events, 'raw_chunk').map(({ chunk }) => chunk))
    const isCount = /usage|token|count|stat/i
    return leaves.some(({ path, value }) => value === 0 && path.some((key) => isCount.test(key)))
  })
}

function counts(name: string, capability: ChatCapability, usage: Usage): ChatCase {
  return {
    name,
    capability,
    run: (harness) =>
      play(
        harness,
        [
          ['text', 'Hello'],
          ['usage', usage],
          ['finish', 'stop'],
        ],
        async (fixture) => {
          const { usage: counted } = foldEvents(await readEvents(fixture))
          const wrong = usageFields.filter(
            (field) => usage[field] !== undefined && usage[field] !== counted[field],
          )
          demand(wrong.length === 0, {
            problem: `${wrong[0] ?? ''} is ${show(counted[wrong[0] ?? 'inputTokens'])}, not ${show(usage[wrong[0] ?? 'inputTokens'])}`,
            expected: `the usage ${show(usage)}`,
            received: counted,
            contract: 'usage',
            hint: 'some providers count cached input or reasoning separately; add it to the total',
          })
        },
      ),
  }
}
