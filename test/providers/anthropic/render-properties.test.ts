import { existsSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { Message, Part } from '../../../src/core/types/message.ts'
import { renderRequest } from '../../../src/providers/anthropic/render-request.ts'
import { transcript } from '../../support/arbitraries.ts'
import { request, shared } from './support.ts'

const oracle = shared('oracles/validate.mjs')

interface Oracle {
  readonly validate: (kind: string, body: unknown, options: object) => { readonly ok: boolean }
}

/** Legal threads, with reasoning of this and of other providers. Files have been read. */
const threads = fc
  .tuple(transcript, fc.boolean())
  .map(([messages, recount]) => (recount ? recounted(messages) : messages).map(prepared))
  .filter((messages) => messages.some(hasSomething))

/** The same thread with ids that restart in every answer, as with some providers. */
function recounted(messages: readonly Message[]): readonly Message[] {
  const names = new Map<string, string>()
  return messages.map((message) => {
    const { toolCalls, toolCallId } = message
    if (toolCallId !== undefined) return { ...message, toolCallId: names.get(toolCallId) ?? '' }
    if (toolCalls === undefined) return message
    toolCalls.forEach(({ id }, index) => names.set(id, `call.${index}`))
    return {
      ...message,
      toolCalls: toolCalls.map((call, index) => ({ ...call, id: `call.${index}` })),
    }
  })
}

function prepared(message: Message): Message {
  const { content } = message
  return { ...message, content: typeof content === 'string' ? content : content.map(preparedPart) }
}

function preparedPart(part: Part): Part {
  if (part.type !== 'reasoning' || part.text.length % 2 === 0) return part
  return { type: 'reasoning', text: part.text, provider: 'anthropic', opaque: { signature: 's' } }
}

function hasSomething({ role, content }: Message): boolean {
  if (role === 'tool') return true
  const texts =
    typeof content === 'string'
      ? [content]
      : content.map((part) => (part.type === 'text' ? part.text : ''))
  return role === 'user' && texts.some((text) => text.trim() !== '')
}

type Block = JsonObject & { readonly type: string }

function blocksOf(turn: JsonObject | undefined): readonly Block[] {
  const content = turn?.['content']
  return typeof content === 'string'
    ? [{ type: 'text', text: content }]
    : ((content ?? []) as unknown as Block[])
}

function rendered(messages: readonly Message[], model: string): JsonObject {
  return renderRequest(request({ messages, model }), {
    provider: 'anthropic',
    version: '2026-10-21',
    warn: () => undefined,
  }).body
}

describe('any legal thread', () => {
  test('is rendered as turns that the API takes', () => {
    fc.assert(
      fc.property(
        threads,
        fc.constantFrom('claude-haiku-4-5', 'claude-opus-5-5'),
        (messages, model) => {
          const turns = rendered(messages, model)['messages'] as readonly JsonObject[]
          const ids = turns
            .flatMap(blocksOf)
            .flatMap(({ type, id }) => (type === 'tool_use' ? [id as string] : []))
          expect(new Set(ids).size).toBe(ids.length)
          for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/)
          turns.forEach((turn, at) => {
            const blocks = blocksOf(turn)
            const before = blocksOf(turns[at - 1])
            expect(turn['role']).not.toBe(turns[at - 1]?.['role'])
            expect(blocks.length).toBeGreaterThan(0)
            for (const { type, text } of blocks)
              if (type === 'text') expect((text as string).trim()).not.toBe('')
            expect(turn['role'] === 'assistant' && blocks.at(-1)?.type.endsWith('thinking')).toBe(
              false,
            )
            const calls = before.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []))
            const results = blocks.flatMap(({ type, tool_use_id }) =>
              type === 'tool_result' ? [tool_use_id] : [],
            )
            expect(new Set(results)).toEqual(new Set(calls))
            expect(
              blocks.slice(0, results.length).every(({ type }) => type === 'tool_result'),
            ).toBe(true)
          })
        },
      ),
      { numRuns: 100 },
    )
  })

  test.skipIf(!existsSync(oracle))(
    'is legal by the provider’s own schema (../shared/oracles)',
    async () => {
      const { validate } = (await import(oracle)) as Oracle
      fc.assert(
        fc.property(threads, (messages) => {
          const body = rendered(messages, 'claude-opus-4-6')
          expect(validate('anthropic-current.messages.request', body, { strict: true })).toEqual({
            ok: true,
          })
        }),
        { numRuns: 100 },
      )
    },
    60_000,
  )
})
