import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { eventsOfType, foldEvents, joinedDeltas, showEvents } from '../events.ts'
import { readEvents } from '../read-stream.ts'
import { hello, weatherRequest } from '../samples.ts'
import { show } from '../show.ts'
import type { Script } from '../../testing/script.ts'
import type { FinishReason } from '../../types/response.ts'

/** Characters of one, two, three and four bytes, some of which belong together. */
const unicode = 'plain, é, ß, €, 漢字, 🦜, 👩‍👩‍👧, \u{1F1EB}\u{1F1F7}, "quoted" and \\ back\nnew line'

const twoBlocks: Script = [
  ['text', 'Let me look.'],
  ['tool_call', { id: 'call_1', name: 'weather', arguments: { city: 'Paris' } }],
  ['text', 'Done.'],
  ['finish', 'tool_calls'],
]

/** What a model says, and how it ends. */
export const textCases: readonly ChatCase[] = [
  {
    name: 'text arrives as deltas that add up to it',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const text = joinedDeltas(await readEvents(scene), 'text_delta')
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
      play(harness, hello, async (scene) => {
        const completed = eventsOfType(await readEvents(scene), 'text_completed')
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
      play(harness, hello, async (scene) => {
        const { message, outputText } = foldEvents(await readEvents(scene))
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
      play(harness, [['finish', 'stop']], async (scene) => {
        const events = await readEvents(scene)
        const { outputText, error } = foldEvents(events)
        demand(error === undefined && outputText === '' && events.length > 0, {
          expected: 'message_started and message_completed, with no text between them',
          received: showEvents(events),
          contract: 'oneEnd',
        })
      }),
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
          async (scene) => {
            const { outputText } = foldEvents(await readEvents(scene))
            demand(outputText === unicode, {
              expected: `${show(unicode)}, cut into pieces of up to ${maxBytes} bytes`,
              received: outputText,
              contract: 'text',
              hint: 'decode with one TextDecoder and {stream: true}, and wait for the end of an event before you parse it',
            })
          },
          cut,
        )
      }
    },
  },
  {
    name: 'text blocks stay apart',
    capability: 'text_blocks',
    run: (harness) =>
      play(harness, twoBlocks, async (scene) => {
        const events = await readEvents(scene, { request: weatherRequest(scene) })
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
  finishes('stop', 'an answer that ends by itself finishes with stop'),
  finishes('length', 'an answer that was cut off for its length finishes with length'),
  finishes('content_filter', 'an answer that was filtered finishes with content_filter'),
  finishes('other', 'an answer that ends in a way of its own finishes with other'),
]

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
        async (scene) => {
          const [end] = eventsOfType(await readEvents(scene), 'message_completed')
          demand(end?.finishReason === reason, {
            expected: `finishReason ${show(reason)}`,
            received: end?.finishReason,
            contract: 'finish',
          })
        },
      ),
  }
}
