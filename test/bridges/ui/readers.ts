import { asSchema, readUIMessageStream, uiMessageChunkSchema, type UIMessage } from 'ai'
import { readUIMessageStream as read5, uiMessageChunkSchema as schema5 } from 'ai-5'
import type { UiMessageChunk } from '../../../src/ui.ts'

/** A message as the real reader of the AI SDK has it at the end of a stream, and what went wrong. */
export interface ReadMessage {
  readonly id: string
  // The parts of each version are others; tests look at what they expect.
  readonly parts: readonly Record<string, unknown>[]
  readonly metadata?: unknown
}

export interface Reading {
  readonly message: ReadMessage | undefined
  readonly errors: readonly string[]
  readonly chunks: readonly UiMessageChunk[]
}

/** Reads a stream by `readUIMessageStream` of a version, after each chunk was checked against the schema of that version. */
export async function readBy(
  version: 5 | 6,
  stream: ReadableStream<UiMessageChunk>,
  before?: UIMessage,
): Promise<Reading> {
  const chunks: UiMessageChunk[] = []
  const errors: string[] = []
  const check = version === 5 ? schema5() : asSchema(uiMessageChunkSchema)
  const checked = stream.pipeThrough(
    new TransformStream<UiMessageChunk, UiMessageChunk>({
      async transform(chunk, controller) {
        // As a browser gets it.
        const sent = JSON.parse(JSON.stringify(chunk)) as UiMessageChunk
        const result = await check.validate?.(sent)
        if (result?.success !== true) errors.push(`schema: ${JSON.stringify(chunk)}`)
        chunks.push(sent)
        controller.enqueue(sent)
      },
    }),
  )
  const onError = (error: unknown): void => {
    errors.push(error instanceof Error ? error.message : String(error))
  }
  // Both versions read what both have; the types of one do not know those of the other.
  const read = (version === 5 ? read5 : readUIMessageStream) as typeof readUIMessageStream
  let message: ReadMessage | undefined
  const messages = read({
    stream: checked as Parameters<typeof readUIMessageStream>[0]['stream'],
    onError,
    ...(before && { message: before }),
  })
  for await (const next of messages) message = next as unknown as ReadMessage
  return { message, errors, chunks }
}

/** The parts of a message that have this type, or of the calls of any tool. */
export function partsOf({ message }: Reading, type: string): readonly Record<string, unknown>[] {
  return message?.parts.filter((part) => part['type'] === type) ?? []
}

/** The text that a message shows. */
export function shownText({ message }: Pick<Reading, 'message'>): string {
  const texts = message?.parts.filter((part) => part['type'] === 'text') ?? []
  return texts.map((part) => String(part['text'])).join('')
}

/** The id of the last approval that a page was asked for about a call. */
export function approvalIdOf(
  messages: readonly { readonly parts: readonly object[] }[],
  toolCallId: string,
): string {
  const parts = messages.flatMap((message) => message.parts) as readonly Record<string, unknown>[] // Parts are objects.
  const asked = parts.findLast((part) => part['toolCallId'] === toolCallId && 'approval' in part)
  const approval = asked?.['approval'] as { readonly id: string } | undefined
  if (approval === undefined) throw new Error(`the page shows no approval of ${toolCallId}`)
  return approval.id
}
