import { expect, test } from 'vitest'
import { hasShared, recordedCases, type RecordedCase } from '../support/recordings.ts'

/** The endpoints that the adapters call. The recordings of each are read by the tests of its adapter, answers and refusals. */
const called: ReadonlySet<string> = new Set([
  'chat/completions',
  'responses',
  'messages',
  'generateContent',
  'streamGenerateContent',
  'images/generations',
  'images/edits',
  'moderations',
  'embeddings',
  'batchEmbedContents',
])

/** Why the recordings of the other endpoints are not read. */
const unread: Readonly<Record<string, string>> = {
  completions: 'the endpoint before Chat Completions; no adapter calls it',
  'audio/speech': 'the library has no speech',
  'audio/transcriptions': 'the library has no transcription',
  'audio/translations': 'the library has no transcription',
  models: 'the library lists no models',
  'messages/count_tokens': 'the library counts no tokens ahead',
  countTokens: 'the library counts no tokens ahead',
  interactions: 'another API of Gemini, which the adapter does not speak',
  predict: 'Imagen on Vertex; images of Gemini come from generateContent',
}

/** The refusals of endpoints that no adapter calls have the same form as the others, and are read by the same tests. */
function isRead({ id, provider, endpoint, status }: RecordedCase): boolean {
  if (called.has(endpoint)) return true
  if (provider === 'anthropic' || provider === 'gemini') return status >= 400
  // Variations are refused before they are sent; the answer has the form of the other images.
  return id.startsWith('openai-image-')
}

test('every recording is read by a test, or a sentence says why not', () => {
  const left = recordedCases().filter((recording) => !isRead(recording))
  const unexplained = left.filter(({ endpoint }) => unread[endpoint] === undefined)
  expect(unexplained.map(({ id }) => id)).toEqual([])
  const endpoints = new Set(left.map(({ endpoint }) => endpoint))
  // Without the recordings next to the repository there is nothing to explain.
  if (hasShared) expect([...endpoints].toSorted()).toEqual(Object.keys(unread).toSorted())
  else expect(left).toEqual([])
})
