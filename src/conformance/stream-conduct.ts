import { demandCancelled, demandNoKey, echoedKey, plainKey } from './adapter-demands.ts'
import { unhandledDuring } from './cases.ts'
import { demand, show, turns, until, within, type Wait } from './demands.ts'
import {
  drain,
  foldEvents,
  hello,
  joinedDeltas,
  late,
  openStream,
  play,
  read,
  readEvents,
  refused,
  requestOf,
  showEvents,
  slow,
  weatherCall,
  weatherRequest,
  weatherTool,
  whileTimePasses,
  type ChatCase,
  type ChatScene,
} from './harness.ts'
import { sameJson } from '../schema/json-schema.ts'
import type { Script } from '../testing/script.ts'
import type { ModelEvent } from '../types/events.ts'
import type { ModelRequest } from '../types/request.ts'

/** When a stream begins, and how it is left. */
export const stoppingCases: readonly ChatCase[] = [
  {
    name: 'nothing is sent before the first next()',
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        scene.adapter.stream(requestOf(scene))[Symbol.asyncIterator]()
        await turns(20)
        const sent = scene.requests().length
        demand(sent === 0, {
          expected: 'no request from stream() and [Symbol.asyncIterator]() alone',
          received: `${sent} requests`,
          contract: 'lazy',
          hint: 'an async generator function runs nothing before the first next(); a plain function that calls fetch does',
        })
      }),
  },
  {
    name: 'a stream that is left closes its connection',
    capability: 'connections',
    run: (harness) =>
      play(harness, slow, async (scene) => {
        const stream = openStream(scene)
        await stream.next()
        demandOpen(scene)
        await stream.leave()
        await closes(scene, 'a consumer left the loop')
      }),
  },
  {
    name: 'a stream that is read to its end leaves no connection open',
    capability: 'connections',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        await readEvents(scene)
        await closes(scene, 'the stream had ended')
      }),
  },
  {
    name: 'an abort closes the connection',
    capability: 'connections',
    run: (harness) =>
      play(harness, slow, async (scene) => {
        const controller = new AbortController()
        const stream = openStream(scene, { options: { signal: controller.signal } })
        await stream.next()
        demandOpen(scene)
        const pending = drain(stream)
        controller.abort()
        // How the stream ends is what another case looks at.
        await within(
          pending.catch(() => []),
          waitFor(scene, 'the stream to end after an abort'),
        )
        await closes(scene, 'the signal was aborted')
      }),
  },
  {
    name: 'an abort in the middle ends the stream with the error cancelled',
    run: (harness) =>
      play(harness, slow, async (scene) => {
        const controller = new AbortController()
        const stream = openStream(scene, { options: { signal: controller.signal } })
        const first = (await stream.next()) ?? []
        const pending = drain(stream)
        controller.abort()
        const rest = await within(pending, waitFor(scene, 'the stream to end after an abort'))
        const last = rest.at(-1)
        demand(last?.type === 'error' && last.error.reason === 'cancelled', {
          expected: 'an error event with reason cancelled as the last event',
          received: showEvents([...first, ...rest]),
          contract: 'cancelled',
        })
      }),
  },
  {
    name: 'an abort before the first event rejects with cancelled',
    run: (harness) =>
      play(harness, late, async (scene) => {
        const controller = new AbortController()
        const stream = openStream(scene, { options: { signal: controller.signal } })
        const pending = drain(stream).then(showEvents, (thrown: unknown) => ({ thrown }))
        await turns(20)
        controller.abort()
        demandCancelled(await within(pending, waitFor(scene, 'a rejection after an abort')))
      }),
  },
  {
    name: 'a signal that is aborted already rejects with cancelled',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const { events, failure } = await read(scene, { options: { signal: AbortSignal.abort() } })
        demandCancelled(failure ?? showEvents(events))
      }),
  },
]

function waitFor({ patienceMs }: ChatScene, expected: string): Wait {
  return { ms: patienceMs, expected, contract: 'cancelled' }
}

function demandOpen(scene: ChatScene): void {
  const open = scene.openConnections()
  demand(open > 0, {
    expected: 'an open connection while the answer is under way',
    received: `openConnections() gives ${open}`,
    contract: 'harness',
    hint: 'the script waits in its middle; the wire has to hold the connection open meanwhile',
  })
}

/** The contract's own limit. */
const closedWithinMs = 500

async function closes(scene: ChatScene, when: string): Promise<void> {
  const expected = `no open connection after ${when}`
  await until(
    () => scene.openConnections(),
    (open) => open === 0,
    { ms: closedWithinMs, expected, contract: 'resourceSafe' },
  )
}

const echoed: Script = [
  [
    'preflight_error',
    'authentication_failed',
    { status: 401, message: `Incorrect API key provided: ${echoedKey}.` },
  ],
]

/** What must not get out: keys, and rejections that nobody handles. */
export const hygieneCases: readonly ChatCase[] = [
  {
    name: 'the key is in no event and in no error',
    async run(harness) {
      const options = { apiKey: plainKey }
      for (const script of [hello, refused]) {
        await play(harness, script, async (scene) => {
          const { events, failure } = await read(scene, { options })
          demandNoKey(plainKey, [events, failure?.thrown])
        })
      }
    },
  },
  {
    name: 'the key is not in what was recorded of a request',
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        await readEvents(scene, { options: { apiKey: plainKey } })
        demandNoKey(plainKey, [scene.requests()])
      }),
  },
  {
    name: 'a key that the provider echoes is taken out of the error',
    run: (harness) =>
      play(harness, echoed, async (scene) => {
        const { events, failure } = await read(scene, { options: { apiKey: echoedKey } })
        demand(failure !== undefined, {
          expected: 'a rejection with what the provider said about the key',
          received: showEvents(events),
          contract: 'preflight',
        })
        demandNoKey(echoedKey, [events, failure?.thrown])
      }),
  },
  {
    name: 'no rejection is left unhandled',
    async run(harness) {
      const found = await unhandledDuring(async () => {
        await play(harness, refused, async (scene) => {
          // Nobody reads it.
          scene.adapter.stream(requestOf(scene))
          await turns(20)
        })
        await play(harness, refused, (scene) => read(scene))
        await play(harness, slow, async (scene) => {
          const stream = openStream(scene)
          await stream.next()
          await stream.leave()
          await turns(20)
        })
        await play(harness, late, async (scene) => {
          const controller = new AbortController()
          const reading = read(scene, { options: { signal: controller.signal } })
          await turns(20)
          controller.abort()
          await reading
        })
      })
      demand(found.length === 0, {
        expected: 'no unhandled rejection from streams that fail, are left, or are not read',
        received: found[0],
        contract: 'rejections',
        hint: 'a promise that nobody awaits needs a catch of its own',
      })
    },
  },
]

/** What one call has to do with the caller's data and with other calls: nothing. */
export const isolationCases: readonly ChatCase[] = [
  {
    name: 'the request is not changed',
    run: (harness) =>
      play(harness, weatherCall, async (scene) => {
        const request = weatherRequest(scene)
        await readEvents(scene, { request })
        demand(sameJson(request, weatherRequest(scene)), {
          expected: 'the request as it was before the call',
          received: request,
          contract: 'isolated',
        })
      }),
  },
  {
    name: 'a call without options is legal and gets an id of its own',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const events: ModelEvent[] = []
        for await (const batch of scene.adapter.stream(requestOf(scene))) events.push(...batch)
        const { requestId } = foldEvents(events)
        const text = joinedDeltas(events, 'text_delta')
        demand(text !== '' && typeof requestId === 'string' && requestId !== '', {
          expected: 'an answer, and a requestId that is not empty',
          received: { text, requestId },
          contract: 'options',
        })
      }),
  },
  {
    name: 'two streams at once do not mix',
    capability: 'several_calls',
    run: (harness) =>
      play(
        harness,
        twoPieces('left'),
        async (scene) => {
          const left = openStream(scene, { options: { requestId: 'run-left' } })
          const begun = (await left.next()) ?? []
          const right = openStream(scene, { options: { requestId: 'run-right' } })
          const rest = Promise.all([drain(left), drain(right)])
          const [leftRest, rightAll] = await whileTimePasses(scene, rest, 30_000)
          const texts = [[...begun, ...leftRest], rightAll].map(
            (events) => `${foldEvents(events).requestId}: ${joinedDeltas(events, 'text_delta')}`,
          )
          demand(sameJson(texts, ['run-left: left, left', 'run-right: right, right']), {
            expected: 'each stream with its own requestId and its own text',
            received: texts,
            contract: 'isolated',
            hint: 'what a decoder remembers belongs to one call, not to the adapter',
          })
        },
        { more: [twoPieces('right')] },
      ),
  },
]

/** A text in two pieces, with a second between them. */
function twoPieces(word: string): Script {
  return [
    ['text', `${word}, `],
    ['delay', 1000],
    ['text', word],
    ['finish', 'stop'],
  ]
}

/** What is sent of a request. */
export const sentCases: readonly ChatCase[] = [
  sends('every message is sent, in its order', (scene) => [
    conversation(scene),
    'Be brief.',
    'first question',
    'first answer',
    'second question',
  ]),
  sends('the model is sent', (scene) => [requestOf(scene), scene.model]),
  {
    ...sends('the tools are described to the model', (scene) => [
      weatherRequest(scene),
      weatherTool.name,
      weatherTool.description,
      'city',
    ]),
    capability: 'tools',
  },
  {
    ...sends('the result of a tool is sent back', (scene) => [
      answeredCall(scene),
      'Lisbon',
      'sunny and 23',
    ]),
    capability: 'tools',
  },
]

function conversation(scene: ChatScene): ModelRequest {
  return requestOf(scene, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'first question' },
    { role: 'assistant', content: 'first answer' },
    { role: 'user', content: 'second question' },
  ])
}

function answeredCall(scene: ChatScene): ModelRequest {
  const call = { id: 'call_1', name: weatherTool.name, arguments: { city: 'Lisbon' } }
  return requestOf(
    scene,
    [
      { role: 'user', content: 'How is the weather there?' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', content: 'sunny and 23', toolCallId: call.id },
    ],
    [weatherTool],
  )
}

/** A request, and the texts that have to stand in what is sent for it, whatever else there is. */
type Sample = (scene: ChatScene) => readonly [ModelRequest, ...string[]]

function sends(name: string, sample: Sample): ChatCase {
  return {
    name,
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const [request, ...texts] = sample(scene)
        await readEvents(scene, { request })
        const sent = JSON.stringify(scene.requests())
        const lost = texts.filter((text) => !sent.includes(text))
        demand(lost.length === 0, {
          expected: `${show(texts)} in the address or the body of the request; ${show(lost)} is not there`,
          received: sent,
          contract: 'conversation',
        })
      }),
  }
}
