import type { ChatHarness } from '../../../../src/conformance.ts'
import type { AdapterOptions, ChatAdapter } from '../../../../src/core/contracts/adapter.ts'
import { AdapterError, type ModelResponse, type StreamError } from '../../../../src/index.ts'
import { refusals } from '../../../../src/testing/conformance/adapter-demands.ts'
import { fakeHarness } from '../harnesses.ts'
import type { Mutant } from './mutant.ts'

type Generate = NonNullable<ChatAdapter['generate']>

/** Adapters whose `generate` is wrong. */
export const generateMutants = [
  giving(
    'the text is trimmed',
    'generate has the text and the warnings of the stream as they are',
    (response) => ({ ...response, outputText: response.outputText.trim() }),
  ),

  giving('a letter is lost', 'generate gives the text of the answer', (response) =>
    response.outputText === 'Hello' ? { ...response, outputText: 'ello' } : response,
  ),
  giving('the provider has another name', 'generate names the run and the provider', (response) =>
    response.outputText === 'Hello' ? { ...response, provider: 'somebody' } : response,
  ),
  giving('a response holds a date', 'generate gives plain JSON', (response) =>
    response.outputText === 'Hello'
      ? { ...response, metadata: JSON.parse('{}', () => ({ at: new Date(0) })) }
      : response,
  ),
  giving('calls are dropped', 'generate gives the calls of tools', (response) =>
    response.outputText === '' ? { ...response, toolCalls: [] } : response,
  ),
  giving('usage is dropped', 'generate counts tokens as the stream does', (response) =>
    response.finishReason === 'stop' ? { ...response, usage: {} } : response,
  ),
  giving('a text is a list of parts', 'generate equals the fold of the stream', (response) =>
    response.outputText === 'Good morning.'
      ? {
          ...response,
          message: { role: 'assistant', content: [{ type: 'text', text: response.outputText }] },
        }
      : response,
  ),
  giving(
    'the message has no calls',
    'generate equals the fold of the stream, with calls of tools',
    (response) =>
      response.outputText === 'One moment.'
        ? { ...response, message: { role: 'assistant', content: response.outputText } }
        : response,
  ),
  giving(
    'reasoning is dropped',
    'generate equals the fold of the stream, with reasoning',
    (response) =>
      response.outputText === 'Four.'
        ? { ...response, message: { role: 'assistant', content: response.outputText } }
        : response,
  ),
  giving(
    'usage is summed up, which the stream does not do',
    'generate equals the fold of the stream, with usage',
    (response) =>
      response.finishReason === 'length'
        ? { ...response, usage: { ...response.usage, totalTokens: 120 } }
        : response,
  ),
  ...refusals.map(({ reason }) =>
    rejecting(
      `${reason} is taken for something else`,
      `generate rejects with ${reason} when the call fails with it`,
      (error) => {
        if (error.reason !== reason || error.message !== 'scripted error') return error
        if (error.retryAfterMs !== undefined || error.partial !== undefined) return error
        const { message, provider, status, requestId } = error
        const other = reason === 'unknown' ? 'invalid_request' : 'unknown'
        return new AdapterError(other, message, { provider, status, requestId })
      },
    ),
  ),
  rejecting(
    'a rejection does not say of which run it is',
    'a rejection of generate names its provider and its run',
    (error) => {
      const { reason, message, provider, status, retryAfterMs } = error
      return new AdapterError(reason, message, { provider, status, retryAfterMs })
    },
  ),
  rejecting(
    'Retry-After is told in seconds',
    'a rejection of generate says how long to wait',
    (error) => {
      if (error.retryAfterMs === undefined) return error
      const { reason, message, provider, status, requestId, retryAfterMs } = error
      const details = { provider, status, requestId, retryAfterMs: retryAfterMs / 1000 }
      return new AdapterError(reason, message, details)
    },
  ),
  generating(
    'a call is tried again',
    'generate does not try again',
    (generate) =>
      (...call) =>
        generate(...call).catch(async (error: unknown) => {
          await generate(...call).catch(() => undefined)
          throw error
        }),
  ),
  generating(
    'a failure in the middle gives half an answer',
    'generate rejects with a failure that the stream would report in its middle',
    (generate) =>
      (...call) =>
        generate(...call).catch((error: AdapterError) =>
          error.kind === 'adapter' && error.partial
            ? (error.partial as ModelResponse)
            : Promise.reject(error),
        ),
  ),
  generating(
    'an answer that breaks off is half an answer',
    'generate rejects an answer that breaks off',
    (generate) =>
      (...call) =>
        generate(...call).catch((error: StreamError) =>
          error.reason === 'truncated' ? (error.partial as ModelResponse) : Promise.reject(error),
        ),
  ),
  generating(
    'requestTimeoutMs is not kept',
    'a wait beyond requestTimeoutMs rejects generate with timeout',
    (generate) =>
      (request, { requestTimeoutMs: _limit, ...options } = {}) =>
        generate(request, options),
  ),
  generating(
    'timers are not cleared',
    'a limit that is not reached changes nothing',
    (generate) =>
      (request, options: AdapterOptions = {}) => {
        if (options.requestTimeoutMs === 60_000) options.clock?.timer?.(60_000, () => undefined)
        return generate(request, options)
      },
  ),
  generating(
    'an abort rejects with what fetch rejects with',
    'an abort rejects generate with cancelled',
    (generate) => (request, options) =>
      generate(request, options).catch((error: unknown) => {
        throw options?.signal?.aborted === true ? new DOMException('aborted', 'AbortError') : error
      }),
  ),
  generating(
    'the temperature is left out',
    'generate sends what the stream sends',
    (generate) =>
      ({ temperature: _temperature, ...request }, options) =>
        generate(request, options),
  ),
  generating(
    'the request is written to',
    'generate does not change the request',
    (generate) => (request, options) => {
      Object.assign(request.metadata, { seen: true })
      return generate(request, options)
    },
  ),
  generating(
    'the key is in the metadata of a response',
    'the key is in no response and in no rejection of generate',
    (generate) => async (request, options) => {
      const response = await generate(request, options)
      const key = options?.apiKey
      return key === undefined ? response : { ...response, metadata: { key } }
    },
  ),
]

/** An adapter whose `generate` is right but for one change. */
function generating(
  defect: string,
  caught: string,
  change: (generate: Generate) => Generate,
): Mutant<ChatHarness> {
  const harness: ChatHarness = {
    ...fakeHarness,
    patienceMs: 400,
    async start(script, options) {
      const started = await fakeHarness.start(script, options)
      const { adapter } = started
      const right: Generate = (...call) =>
        adapter.generate?.(...call) ?? Promise.reject(new Error('a fake has generate'))
      return {
        ...started,
        adapter: {
          provider: adapter.provider,
          stream: (...call) => adapter.stream(...call),
          generate: change(right),
        },
      }
    },
  }
  return { defect, caught, harness }
}

function giving(
  defect: string,
  caught: string,
  change: (response: ModelResponse) => ModelResponse,
): Mutant<ChatHarness> {
  return generating(
    defect,
    caught,
    (generate) =>
      async (...call) =>
        change(await generate(...call)),
  )
}

function rejecting(
  defect: string,
  caught: string,
  change: (error: AdapterError) => Error,
): Mutant<ChatHarness> {
  return generating(
    defect,
    caught,
    (generate) =>
      (...call) =>
        generate(...call).catch((error: unknown) => {
          throw error instanceof AdapterError ? change(error) : error
        }),
  )
}
