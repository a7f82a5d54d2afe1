// Runs the conformance kit on the Fake, on every adapter and on the memory store. Each conformance case is one case here.
import {
  adapterCases,
  imageAdapterCases,
  runStoreCases,
  sessionStoreCases,
  speechAdapterCases,
  streamAdapterCases,
  transcriptionAdapterCases,
} from 'allm-ts/conformance'
import { memoryStore } from 'allm-ts/stores'
import { fake, fakeImages, fakeSpeech, fakeTranscription } from 'allm-ts/testing'
import { wireHarness } from './wire-harness.mjs'

/** The capabilities that the wire of every provider has, and those that only some have. */
const wires = words(
  'requests connections several_calls chunking timeouts detailed_errors retry_after stream_failures',
  'finish_reasons tools parallel_tools reasoning usage cached_usage reasoning_usage raw_chunks',
  'settings image_input file_input clean_end reset early_headers left_reads',
)
const pieces = words('streamed_tools interleaved_tools raw_arguments cache_write_usage')
const rich = words('text_blocks reasoning_echo')
const extra = words('stream_retry_after images')
const fakes = wires.filter((capability) => capability !== 'chunking')

const chatHarnesses = {
  fake: {
    capabilities: [...fakes, ...pieces, 'text_blocks', 'images', 'unsupported_feature'],
    start(script, { more = [] } = {}) {
      const adapter = fake({ scripts: [script, ...more] })
      return { adapter, openConnections: () => adapter.openStreams, requests: () => adapter.calls }
    },
  },
  openai_chat: wireHarness('openai_chat', [...wires, ...pieces, 'stream_retry_after']),
  openai_responses: wireHarness('openai_responses', [...wires, ...pieces, ...rich, ...extra]),
  anthropic: wireHarness('anthropic', [...wires, ...pieces, ...rich]),
  gemini: wireHarness('gemini', [...wires, ...rich, ...extra]),
}
const imageHarness = {
  capabilities: ['generate', 'edit', 'variation', 'several_images', 'retry_after'],
  start: (script) => ({ adapter: fakeImages({ script }) }),
}

const speechHarness = {
  capabilities: ['connections', 'cut', 'usage', 'retry_after'],
  start(script) {
    const adapter = fakeSpeech({ script })
    return { adapter, openConnections: () => adapter.openStreams }
  },
}
const transcriptionHarness = {
  capabilities: ['segments', 'words', 'language', 'retry_after'],
  start: (script) => ({ adapter: fakeTranscription({ script }) }),
}

export const conformanceCases = Object.fromEntries([
  ...Object.entries(chatHarnesses).flatMap(([name, harness]) => [
    ...listed(streamAdapterCases, harness, `${name} streams`),
    ...listed(adapterCases, harness, `${name} generates`),
  ]),
  ...listed(imageAdapterCases, imageHarness, 'fake images'),
  ...listed(speechAdapterCases, speechHarness, 'fake speech'),
  ...listed(transcriptionAdapterCases, transcriptionHarness, 'fake transcription'),
  ...listed(sessionStoreCases, { start: () => ({ store: memoryStore() }) }, 'memory store'),
  ...listed(runStoreCases, { start: () => ({ store: memoryStore() }) }, 'memory store for runs'),
])

/** The cases that a harness has to pass. */
function listed(list, harness, name) {
  const claimed = new Set([undefined, ...(harness.capabilities ?? [])])
  return list
    .filter(({ capability }) => claimed.has(capability))
    .map((item) => [`${name}: ${item.name}`, () => item.run(harness)])
}

function words(...lines) {
  return lines.flatMap((line) => line.split(' '))
}
