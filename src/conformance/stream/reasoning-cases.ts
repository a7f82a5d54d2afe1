import type { ChatCase, ChatHarness } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { eventsOfType, foldEvents, joinedDeltas } from '../events.ts'
import { readEvents } from '../read-stream.ts'
import { hello, requestOf } from '../samples.ts'
import { show } from '../show.ts'
import type { Script } from '../../testing/script.ts'
import type { Message } from '../../types/message.ts'

const opaque = 'c2lnbmF0dXJlLW9mLXRoZS1yZWFzb25pbmc='

const thinking: Script = [
  ['reasoning', 'Two and two.', { opaque }],
  ['text', 'Four.'],
  ['finish', 'stop'],
]

/** What a model thinks aloud. */
export const reasoningCases: readonly ChatCase[] = [
  {
    name: 'reasoning arrives as deltas that add up to it',
    capability: 'reasoning',
    run: (harness) =>
      play(harness, thinking, async (scene) => {
        const events = await readEvents(scene)
        const deltas = joinedDeltas(events, 'reasoning_delta')
        const completed = eventsOfType(events, 'reasoning_completed').map(({ text }) => text)
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
      play(harness, thinking, async (scene) => {
        const { message, outputText } = foldEvents(await readEvents(scene))
        const parts = typeof message.content === 'string' ? [] : message.content
        const thought = parts.find((part) => part.type === 'reasoning')
        const { provider } = scene.adapter
        const told = thought?.text === 'Two and two.' && thought.provider === provider
        demand(told && outputText === 'Four.', {
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
        async (scene) => foldEvents(await readEvents(scene)).message,
      )
      const sent = await sentAfter(harness, message)
      demand(sent.includes(opaque), {
        expected: `${show(opaque)} in the request that holds the message`,
        received: sent,
        contract: 'echo',
        hint: 'keep what the provider sends beside its reasoning in reasoning_completed.opaque and in the part, and send it back',
      })
    },
  },
  {
    name: 'reasoning of another provider is not sent',
    capability: 'reasoning_echo',
    async run(harness) {
      const thought = { type: 'reasoning', text: 'a foreign thought', opaque, provider: 'another' }
      const message = { role: 'assistant', content: [thought, { type: 'text', text: 'Four.' }] }
      // Written without the literal types, which the check of the message below does not need.
      const sent = await sentAfter(harness, message as Message)
      demand(!sent.includes('a foreign thought') && !sent.includes(opaque), {
        expected: 'neither the reasoning nor the opaque data of another provider in the request',
        received: sent,
        contract: 'echo',
      })
    },
  },
]

/** What is sent for a conversation that holds an answer. */
function sentAfter(harness: ChatHarness, answer: Message): Promise<string> {
  return play(harness, hello, async (scene) => {
    const request = requestOf(scene, [
      { role: 'user', content: 'What is two and two?' },
      answer,
      { role: 'user', content: 'And three?' },
    ])
    await readEvents(scene, { request })
    return JSON.stringify(scene.requests())
  })
}
