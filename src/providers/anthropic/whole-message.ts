import type { WireBlock, WireEvent, WireMessage } from './wire.ts'

/**
 * A whole answer as the events that would have streamed it, so that both ways have one decoder.
 *
 * `undefined` when the value is no answer. An error in an answer's place is given as the event that it would have been.
 */
export function eventsOfMessage(value: unknown): readonly WireEvent[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  // Whatever the server sent: every member is looked at with care.
  const message = value as WireMessage
  if (message.type === 'error' || (message.content === undefined && message.error !== undefined)) {
    return [{ ...message, type: 'error' }]
  }
  const { content, stop_reason, ...head } = message
  if (!Array.isArray(content)) return undefined
  const blocks = (content as readonly WireBlock[]).flatMap((content_block, index) => [
    { type: 'content_block_start', index, content_block },
    { type: 'content_block_stop', index },
  ])
  return [
    { type: 'message_start', message: head },
    ...blocks,
    {
      type: 'message_delta',
      ...(typeof stop_reason === 'string' ? { delta: { stop_reason } } : {}),
    },
    { type: 'message_stop' },
  ]
}
