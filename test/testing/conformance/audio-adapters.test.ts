import { describe, test } from 'vitest'
import {
  register,
  speechAdapterCases,
  transcriptionAdapterCases,
} from '../../../src/conformance.ts'
import {
  fakeSpeechHarness,
  fakeTranscriptionHarness,
  httpSpeechHarness,
  openaiTranscriptionHarness,
} from './harnesses.ts'

describe('the speech fake', () => {
  register(speechAdapterCases, fakeSpeechHarness, test)
})

describe.each(['openai', 'gemini'] as const)('%s speech over HTTP', (provider) => {
  register(speechAdapterCases, httpSpeechHarness(provider), test)
})

describe('the transcription fake', () => {
  register(transcriptionAdapterCases, fakeTranscriptionHarness, test)
})

describe('openai transcription over HTTP', () => {
  register(transcriptionAdapterCases, openaiTranscriptionHarness, test)
})
