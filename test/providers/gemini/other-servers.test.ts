import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { chunk, eventsOf, fold, lastChunk, sseBody, stubbed } from './support.ts'

/** Members of a chunk and its parts that some servers send as null. */
const nothing: JsonObject = {
  error: null,
  promptFeedback: null,
  usageMetadata: null,
  modelStatus: null,
}
const emptyPart: JsonObject = { functionCall: null, inlineData: null, thoughtSignature: null }

test('members that are null are ignored', async () => {
  const { outputText, toolCalls, metadata } = await fold(
    { ...chunk([{ ...emptyPart, text: 'Hello' }], { groundingMetadata: null }), ...nothing },
    lastChunk([{ functionCall: { name: 'f', args: { x: 1 }, id: null, partialArgs: null } }]),
  )
  expect(outputText).toBe('Hello')
  expect(toolCalls).toMatchObject([{ name: 'f', arguments: { x: 1 } }])
  expect(metadata).toEqual({})
})

test('events without data are ignored', async () => {
  const body = `data:\r\n\r\n${sseBody([lastChunk([{ text: 'Hello' }])])}data:`
  const events = await eventsOf(stubbed({ body }).adapter)
  expect(events.at(-1)).toMatchObject({ message: { content: 'Hello' } })
})

test.each(['\n', '\r\n', '\r'])(
  'a late error outside the events is found after %j',
  async (lineEnd) => {
    const late = JSON.stringify({ error: { code: 503, message: 'gone', status: 'UNAVAILABLE' } })
    const body = sseBody([lastChunk([{ text: 'Hello' }])], lineEnd) + late
    const events = await eventsOf(stubbed({ body }).adapter)
    expect(events.at(-1)).toMatchObject({
      error: { reason: 'provider_unavailable', message: 'gone' },
    })
  },
)
