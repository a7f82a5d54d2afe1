import type { ChatHarness } from '../../../../src/conformance.ts'
import type { ChatAdapter } from '../../../../src/core/contracts/adapter.ts'
import { AdapterError, type Message, type ModelEvent } from '../../../../src/index.ts'
import { fakeHarness, httpHarness, type Breaks } from '../harnesses.ts'
import {
  asking,
  broken,
  edit,
  events,
  throwing,
  withStream,
  type Change,
  type Mutant,
} from './mutant.ts'

/** Ways to keep a key on an adapter where somebody else can read it. */
const keepers: readonly (readonly [string, (adapter: ChatAdapter, key: string) => void])[] = [
  ['the key is a member', (adapter, key) => Object.assign(adapter, { apiKey: key })],
  [
    'the key is inside of a member',
    (adapter, key) =>
      Object.assign(adapter, { last: { headers: [['authorization', `Bearer ${key}`]] } }),
  ],
  [
    'the key is a member that is not enumerable',
    (adapter, key) => Object.defineProperty(adapter, 'config', { value: { key } }),
  ],
  ['the key is under a symbol', (adapter, key) => Object.assign(adapter, { [Symbol('key')]: key })],
  [
    'the key is on a function',
    (adapter, key) => Object.assign(Reflect.get(adapter, 'stream'), { key }),
  ],
  [
    'the key is in a map',
    (adapter, key) => Object.assign(adapter, { seen: new Map([['k', key]]) }),
  ],
  [
    'the key is in headers',
    (adapter, key) => Object.assign(adapter, { headers: new Headers({ 'x-api-key': key }) }),
  ],
  [
    'the key is the name of a member',
    (adapter, key) => Object.assign(adapter, { used: { [key]: 1 } }),
  ],
  [
    'the key is told by a getter of the prototype',
    (adapter, key) =>
      Object.setPrototypeOf(adapter, Object.create({}, { key: { get: () => key } })),
  ],
]

/** Adapters that lose what they are given, keep what they should not, or tell it. */
export const requestMutants = [
  ...(['message', 'part', 'tool'] as const).map((place) =>
    broken(
      `the options of a ${place} are dropped`,
      'the options of a message, a part and a tool are sent',
      asking((request, options) => [
        {
          ...request,
          messages: request.messages.map(({ providerOptions = {}, ...message }) => ({
            ...message,
            ...(place === 'message' ? {} : { providerOptions }),
            content:
              typeof message.content === 'string' || place !== 'part'
                ? message.content
                : message.content.map(({ providerOptions: _options, ...part }) => part),
          })),
          tools: request.tools.map(({ providerOptions = {}, ...tool }) =>
            place === 'tool' ? tool : { ...tool, providerOptions },
          ),
        },
        options,
      ]),
    ),
  ),

  onTheWire(
    'a lack of money is taken for a rate limit',
    'the reason of a refusal follows from its status',
    {
      change: throwing((error) => {
        if (!(error instanceof AdapterError) || error.status !== 402) return error
        const { message, provider, status, requestId } = error
        return new AdapterError('rate_limited', message, { provider, status, requestId })
      }),
    },
  ),
  {
    // A fake removes what looks like a key from errors, and does not know the key of its call.
    defect: 'only keys of a known format are removed',
    caught: 'a key of any form that the provider repeats is in nothing that leaves the adapter',
    harness: {
      ...fakeHarness,
      capabilities: [...(fakeHarness.capabilities ?? []), 'keys'],
    } satisfies ChatHarness,
  },
  broken(
    'the system message is dropped',
    'every message is sent, in its order',
    messages((all) => all.filter(({ role }) => role !== 'system')),
  ),
  broken(
    'the model is not sent',
    'the model is sent',
    asking(({ model: _model, ...request }, options) => [request, options]),
  ),
  broken(
    'tools are not sent',
    'the tools are described to the model',
    asking((request, options) => [{ ...request, tools: [] }, options]),
  ),
  broken(
    'the results of tools are not sent',
    'the result of a tool is sent back',
    messages((all) => all.filter(({ role }) => role !== 'tool')),
  ),
  broken(
    'the request is written to',
    'the request is not changed',
    asking((request, options) => {
      Object.assign(request.metadata, { seen: true })
      return [request, options]
    }),
  ),
  broken(
    'options are needed',
    'a call without options is legal and gets an id of its own',
    (adapter) =>
      withStream(adapter, async function* (request, options) {
        if (options?.requestId === undefined) throw new TypeError('requestId of undefined')
        yield* adapter.stream(request, options)
      }),
  ),
  broken('the decoder is shared by all calls', 'two streams at once do not mix', sharedDecoder),
  ...keepers.map(([defect, keep]) =>
    broken(defect, 'the key is on no property of the adapter', (adapter) => {
      const keeping: ChatAdapter = withStream(adapter, (request, options = {}) => {
        if (options.apiKey !== undefined) keep(keeping, options.apiKey)
        return adapter.stream(request, options)
      })
      return keeping
    }),
  ),
  broken(
    'the key is in the metadata of an answer',
    'the key is in no event and in no error',
    (adapter) =>
      withStream(adapter, async function* (request, options) {
        const key = options?.apiKey
        const tell = edit('message_completed', (event) =>
          key === undefined ? event : { ...event, metadata: { key } },
        )
        for await (const batch of adapter.stream(request, options)) {
          yield batch.map((event) => tell(event) as ModelEvent)
        }
      }),
  ),
  broken(
    'the key is in the body of a request',
    'the key is not in what was recorded of a request',
    asking((request, options) => {
      const { apiKey } = options
      return [
        apiKey === undefined ? request : { ...request, metadata: { apiKey: [apiKey] } },
        options,
      ]
    }),
  ),
  broken(
    'what the provider says is told as it is',
    'a key that the provider echoes is taken out of the error',
    throwing((error) => {
      if (!(error instanceof AdapterError) || !error.message.includes('[redacted]')) return error
      return Object.defineProperty(error, 'message', {
        value: 'sk-conformance0123456789abcdef is wrong',
      })
    }),
  ),
  broken(
    'closing fails behind the back of the consumer',
    'no rejection is left unhandled',
    (adapter) =>
      withStream(adapter, async function* (request, options) {
        let ended = false
        try {
          yield* adapter.stream(request, options)
          ended = true
        } finally {
          // oxlint-disable-next-line typescript/no-floating-promises -- That is the defect.
          if (!ended) Promise.reject(new Error('the socket was closed twice'))
        }
      }),
  ),
  onTheWire(
    'bytes are decoded piece by piece',
    'characters that the bytes are cut through arrive whole',
    {
      fetch: async (input, init) => {
        const response = await fetch(input, init)
        const pieces = response.body?.pipeThrough(
          new TransformStream<Uint8Array, Uint8Array>({
            transform: (piece, controller) =>
              controller.enqueue(new TextEncoder().encode(new TextDecoder().decode(piece))),
          }),
        )
        return new Response(pieces ?? null, response)
      },
    },
  ),
  onTheWire('a filtered answer is sent as a space', 'an answer without content is left out', {
    change: messages((all) =>
      all.map((message) =>
        message.role === 'assistant' && message.content === ''
          ? { ...message, content: '.' }
          : message,
      ),
    ),
  }),
  onTheWire(
    'the name of an engine is told to the model',
    'what is not for the provider is not sent',
    {
      change: messages((all) =>
        all.map((message) =>
          message.agent === undefined || typeof message.content !== 'string'
            ? message
            : { ...message, content: `${message.agent}: ${message.content}` },
        ),
      ),
    },
  ),
  onTheWire(
    'signatures are not sent back',
    'what the provider wants echoed goes back with the message',
    {
      fetch: (input, init) =>
        fetch(input, {
          ...init,
          body: (init.body as string).replaceAll(
            'c2lnbmF0dXJlLW9mLXRoZS1yZWFzb25pbmc=',
            'bG9zdA==',
          ),
        }),
    },
  ),
  foreignReasoning(),
]

function messages(change: (all: readonly Message[]) => readonly Message[]): Change {
  return asking((request, options) => [{ ...request, messages: change(request.messages) }, options])
}

/** Keeps the last character of a piece until the next piece comes, of whatever stream. */
function sharedDecoder(adapter: ChatAdapter): ChatAdapter {
  let held = ''
  return events((event) => {
    if (event.type === 'text_delta') {
      const text = held + event.delta
      held = text.slice(-1)
      return text.length > 1 ? { ...event, delta: text.slice(0, -1) } : []
    }
    if (held === '' || event.type === 'message_started') return event
    const rest = { type: 'text_delta', delta: held }
    held = ''
    return [rest, event]
  })(adapter)
}

/** A defect that only bytes can show. */
function onTheWire(defect: string, caught: string, breaks: Breaks): Mutant<ChatHarness> {
  return { defect, caught, harness: httpHarness('anthropic', breaks) }
}

/** Takes the thoughts of others for its own. */
function foreignReasoning(): Mutant<ChatHarness> {
  const caught = 'reasoning of another provider is not sent'
  return onTheWire('reasoning of any provider is sent', caught, {
    change: messages((all) =>
      all.map((message) => ({
        ...message,
        content:
          typeof message.content === 'string'
            ? message.content
            : message.content.map((part) =>
                part.type === 'reasoning' && part.provider === 'another'
                  ? { ...part, opaque: { signature: 'c2ln' }, provider: 'anthropic' }
                  : part,
              ),
      })),
    ),
  })
}
