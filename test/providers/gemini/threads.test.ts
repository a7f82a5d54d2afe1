import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { messageText, type Message } from '../../../src/core/types/message.ts'
import { renderRequest } from '../../../src/providers/gemini/render-request.ts'
import { jsonObject, text, transcript, word } from '../../support/arbitraries.ts'
import { bareAnswer } from '../../support/decode-bytes.ts'
import { bareDecoder, chunk, lastChunk, request } from './support.ts'

interface Turn {
  readonly role: string
  readonly parts: readonly JsonObject[]
}

function turnsOf(messages: readonly Message[]): readonly Turn[] {
  const body = renderRequest(request({ messages, model: 'gemini-3-flash-preview' })).body
  // The renderer makes a list of turns.
  return body['contents'] as unknown as readonly Turn[]
}

describe('a legal thread of any provider', () => {
  test('begins with the user, alternates, and has no empty turn or part', () => {
    fc.assert(
      fc.property(transcript, (messages) => {
        const turns = turnsOf(messages)
        expect(turns.length).toBeGreaterThan(0)
        for (const [index, { role, parts }] of turns.entries()) {
          expect(role).toBe(index % 2 === 0 ? 'user' : 'model')
          expect(parts.length).toBeGreaterThan(0)
          expect(parts).not.toContainEqual({ text: '' })
        }
      }),
    )
  })

  test('keeps all text of users and tools, and the result of every call right after it', () => {
    fc.assert(
      fc.property(transcript, (messages) => {
        const turns = turnsOf(messages)
        const said = turns.flatMap(({ role, parts }) => (role === 'user' ? parts.map(wordsOf) : []))
        const asked = messages.filter(({ role }) => role === 'user').map(messageText)
        expect(said.join('').trimStart()).toBe(asked.join('').trimStart())
        for (const [index, { parts }] of turns.entries()) {
          const calls = membersOf(parts, 'functionCall')
          const results = membersOf(turns[index + 1]?.parts ?? [], 'functionResponse')
          if (calls.length === 0) continue
          expect(results.map(({ id, name }) => [id, name])).toEqual(
            calls.map(({ id, name }) => [id, name]),
          )
          expect(parts.find((part) => 'functionCall' in part)).toHaveProperty('thoughtSignature')
        }
      }),
    )
  })
})

describe('an answer', () => {
  const signature = fc.option(fc.base64String({ minLength: 4, maxLength: 8 }), { nil: undefined })
  const signed = (part: JsonObject, thoughtSignature: string | undefined): JsonObject =>
    thoughtSignature === undefined ? part : { ...part, thoughtSignature }
  const spoken = fc.tuple(text, signature).map(([said, mark]) => signed({ text: said }, mark))
  const thought = fc
    .tuple(text, signature)
    .map(([said, mark]) => signed({ text: said, thought: true }, mark))
  const picture = signature.map((mark) =>
    signed({ inlineData: { mimeType: 'image/png', data: 'AAAA' } }, mark),
  )
  const ran = word.map((code) => ({ executableCode: { language: 'PYTHON', code } }))
  const id = fc.option(fc.uuid(), { nil: undefined })
  const call = fc
    .tuple(word, jsonObject, id, signature)
    .map(([name, args, sent, mark]) =>
      signed(
        { functionCall: sent === undefined ? { name, args } : { id: sent, name, args } },
        mark,
      ),
    )
  const parts = fc
    .tuple(
      fc.array(fc.oneof(spoken, thought, picture, ran), { maxLength: 6 }),
      fc.array(call, { maxLength: 3 }),
    )
    .map(([content, calls]): readonly JsonObject[] => [...content, ...calls])

  test('is the same in one chunk and in many', () => {
    const apart = parts.filter((sent) =>
      joined(sent).every((part, at, all) => !follows(part, all[at - 1])),
    )
    fc.assert(
      fc.property(apart, fc.boolean(), (sent, trailing) => {
        const chunks = joined(sent).flatMap((part) => piecesOf(part, trailing))
        const message = decodeChunks([...chunks.map((part) => chunk([part])), lastChunk()])
        expect(message).toEqual(decodeParts(sent))
      }),
      { numRuns: 300 },
    )
  })

  test('is sent back part by part, with the pieces of one text joined', () => {
    fc.assert(
      fc.property(parts, (sent) => {
        const message = decodeParts(sent)
        const saved = JSON.parse(JSON.stringify(message)) as Message
        const body = renderRequest(
          request({ messages: [{ role: 'user', content: 'Hi' }, saved] }),
        ).body
        const turns = body['contents'] as unknown as readonly Turn[]
        expect(turns[1]?.parts ?? []).toEqual(joined(sent))
      }),
      { numRuns: 300 },
    )
  })
})

function decodeParts(parts: readonly JsonObject[]): Message {
  return decodeChunks([lastChunk(parts)])
}

function decodeChunks(chunks: readonly JsonObject[]): Message {
  const answer = bareAnswer('gemini')
  const decoder = bareDecoder(answer.sink)
  for (const one of chunks) decoder.push(JSON.stringify(one), undefined)
  decoder.end?.()
  return collectEventsSync(answer.take()).message
}

/** Consecutive texts without a signature become one; empty ones are left out. */
function joined(parts: readonly JsonObject[]): readonly JsonObject[] {
  const result: JsonObject[] = []
  for (const part of parts) {
    const last = result.at(-1)
    const isText = typeof part['text'] === 'string'
    if (isText && part['text'] === '' && !('thoughtSignature' in part)) continue
    const goesOn =
      isText &&
      typeof last?.['text'] === 'string' &&
      last['thought'] === part['thought'] &&
      !('thoughtSignature' in last) &&
      !('thoughtSignature' in part)
    if (goesOn)
      result.splice(-1, 1, {
        ...last,
        ...part,
        text: wordsOf(last) + wordsOf(part),
      })
    else result.push(part)
  }
  return result
}

/** Whether a signed text follows one of its kind directly: in a stream they cannot be told apart. */
function follows(part: JsonObject, before: JsonObject | undefined): boolean {
  return (
    'text' in part &&
    before !== undefined &&
    'text' in before &&
    part['thought'] === before['thought']
  )
}

/** A part in pieces: letter by letter, the signature on the last piece or on an empty one after it. */
function piecesOf(part: JsonObject, trailing: boolean): readonly JsonObject[] {
  const { text: _text, thoughtSignature, ...rest } = part
  const letters = wordsOf(part)
    .split('')
    .map((letter) => ({ text: letter, ...rest }))
  if (letters.length === 0) return [part]
  if (thoughtSignature === undefined) return letters
  if (trailing || part['thought'] === true)
    return [...letters, { text: '', ...rest, thoughtSignature }]
  return [...letters.slice(0, -1), { text: letters.at(-1)?.text ?? '', ...rest, thoughtSignature }]
}

function wordsOf(part: JsonObject): string {
  return typeof part['text'] === 'string' ? part['text'] : ''
}

function membersOf(parts: readonly JsonObject[], key: string): readonly JsonObject[] {
  // The renderer writes an object under that key.
  return parts.flatMap((part) => (key in part ? [part[key] as JsonObject] : []))
}
