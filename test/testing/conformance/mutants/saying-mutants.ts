import { AdapterError, messageText, type Part } from '../../../../src/index.ts'
import { broken, edit, events, saying, those } from './mutant.ts'

/** Adapters that say the wrong thing, or at the wrong time. */
export const sayingMutants = [
  broken(
    'the text comes before the start',
    'the first event is message_started',
    saying(([started, first, ...rest]) =>
      first?.type === 'text_delta'
        ? [first, started, ...rest]
        : [started, first, ...rest].filter(Boolean),
    ),
  ),
  broken(
    'the provider has another name in its events',
    'message_started names the run and the provider',
    events(edit('message_started', (event) => ({ ...event, provider: 'somebody' }))),
  ),
  broken(
    'an answer in two pieces has no end',
    'a stream ends with message_completed or error',
    saying((all) =>
      those(all, 'text_delta').length === 2
        ? all.filter(({ type }) => type !== 'message_completed')
        : all,
    ),
  ),
  broken(
    'the end is said twice',
    'nothing follows the end of a stream',
    events(edit('message_completed', (event) => [event, event])),
  ),
  broken('there is an empty batch', 'a batch is a list of at least one event', (adapter) => ({
    provider: adapter.provider,
    async *stream(request, options) {
      for await (const batch of adapter.stream(request, options)) {
        yield []
        yield batch
      }
    },
  })),
  broken(
    'an event holds a date',
    'events are plain JSON',
    events(edit('message_started', (event) => ({ ...event, at: new Date(0) }))),
  ),
  broken(
    'an event has a member that is undefined',
    'events are plain JSON',
    events(edit('text_delta', (event) => ({ ...event, index: undefined }))),
  ),
  broken(
    'there are events that nobody knows',
    'every event is one that an adapter may send',
    events(edit('message_started', (event) => [event, { type: 'ping' }])),
  ),
  broken(
    'the second piece of a text is lost',
    'text arrives as deltas that add up to it',
    saying((all) => all.filter((event) => event !== those(all, 'text_delta')[1])),
  ),
  broken(
    'text_completed holds the last piece alone',
    'text_completed holds all of its block',
    events((event, all) => {
      const last = all[all.indexOf(event) - 1]
      return event.type === 'text_completed' && last?.type === 'text_delta'
        ? { ...event, text: last.delta }
        : event
    }),
  ),
  broken(
    'the message holds the first piece alone',
    'message_completed says what the deltas said',
    events((event, all) => {
      const [first, second] = those(all, 'text_delta')
      if (event.type !== 'message_completed' || second === undefined || all.some(isCall))
        return event
      return { ...event, message: { role: 'assistant', content: first?.delta } }
    }),
  ),
  broken(
    'an answer without text is taken for a broken one',
    'an answer without text is an answer',
    events(
      edit('message_completed', (event) => {
        const { content, toolCalls } = event.message
        if (content !== '' || toolCalls !== undefined) return event
        return { type: 'error', error: new AdapterError('malformed_response', 'no text').toJSON() }
      }),
    ),
  ),
  broken(
    'two blocks of text are one',
    'text blocks stay apart',
    events((event, all) => {
      const blocks = those(all, 'text_completed')
      if (event.type !== 'text_completed' || blocks.length === 1) return event
      return event === blocks.at(-1)
        ? { ...event, text: blocks.map(({ text }) => text).join('') }
        : []
    }),
  ),
  ...(
    [
      ['the text blocks of a message in parts are one part', joinedTexts],
      ['a text of a message in parts is cut in two', cutTexts],
      ['the parts of a message are sorted by their kind', (parts) => parts.toReversed()],
      ['the texts of a message in parts are repeated', (parts) => [...parts, ...parts]],
    ] as const satisfies readonly (readonly [string, (parts: readonly Part[]) => readonly Part[]])[]
  ).map(([defect, rewrite]) =>
    broken(
      defect,
      'a message in parts has a part for each block, in their order',
      events(
        edit('message_completed', (event) => {
          const { content } = event.message
          return typeof content === 'string'
            ? event
            : { ...event, message: { ...event.message, content: rewrite(content) } }
        }),
      ),
    ),
  ),
  broken(
    'the parts of a message are left out, but for its text',
    'a message in parts has a part for each block, in their order',
    events(
      edit('message_completed', (event) => ({
        ...event,
        message: { ...event.message, content: messageText(event.message) },
      })),
    ),
  ),
  ...(['stop', 'length', 'content_filter', 'other'] as const).map((reason) =>
    broken(
      `${reason} is told as another finish reason`,
      {
        stop: 'an answer that ends by itself finishes with stop',
        length: 'an answer that was cut off for its length finishes with length',
        content_filter: 'an answer that was filtered finishes with content_filter',
        other: 'an answer that ends in a way of its own finishes with other',
      }[reason],
      events(
        edit('message_completed', (event) =>
          event.finishReason === reason ? { ...event, finishReason: 'error' } : event,
        ),
      ),
    ),
  ),
  broken(
    'raw chunks come unasked',
    'raw chunks do not come unless they are asked for',
    (adapter) => ({
      provider: adapter.provider,
      stream: (request, options) => adapter.stream(request, { ...options, includeRawChunks: true }),
    }),
  ),
  broken(
    'raw chunks never come',
    'raw chunks come when they are asked for',
    events(edit('raw_chunk', () => [])),
  ),
  broken(
    'images are dropped',
    'an image that the model makes arrives with its bytes',
    events(edit('image_completed', () => [])),
  ),
]

function joinedTexts(parts: readonly Part[]): readonly Part[] {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return [...parts.filter(({ type }) => type !== 'text'), { type: 'text', text }]
}

function cutTexts(parts: readonly Part[]): readonly Part[] {
  return parts.flatMap((part): readonly Part[] =>
    part.type === 'text'
      ? [
          { type: 'text', text: part.text.slice(0, 2) },
          { type: 'text', text: part.text.slice(2) },
        ]
      : [part],
  )
}

function isCall({ type }: { readonly type: string }): boolean {
  return type === 'tool_call_completed'
}
