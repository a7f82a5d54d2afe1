import { fromAiSdk, type AiSdkModel, type AiSdkOptions } from '../../../src/ai-sdk.ts'
import {
  createEngine,
  generate,
  type Message,
  type ModelRequest,
  type Warning,
} from '../../../src/index.ts'

/** What `doStream` is given. */
export type Call = Readonly<Record<string, unknown>> & { readonly abortSignal: AbortSignal }

/** A model that answers with parts. */
export interface PlayedModel extends AiSdkModel {
  readonly calls: Call[]
  /** How many streams were cancelled. */
  cancelled: number
}

export type Version = AiSdkModel['specificationVersion']

/** The end of an answer in each version. */
export function finish(version: Version = 'v3', reason = 'stop'): object {
  const finishReason = version === 'v2' ? reason : { unified: reason, raw: reason }
  return { type: 'finish', finishReason, usage: {} }
}

/** How a model is played. */
interface PlaySettings extends Partial<Pick<AiSdkModel, 'provider' | 'supportedUrls'>> {
  readonly version?: Version
  /** The body that the model says it has sent. */
  readonly body?: unknown
  /** The headers of its response. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A model that plays lists of parts, one for each call. A part that is an `Error` breaks the stream. */
export function playedModel(
  answers: readonly (readonly unknown[])[],
  settings: PlaySettings = {},
): PlayedModel {
  const {
    version = 'v3',
    provider = 'parrot.chat',
    supportedUrls = {},
    body,
    headers = {},
  } = settings
  let next = 0
  const model: PlayedModel = {
    specificationVersion: version,
    provider,
    modelId: 'parrot-1',
    supportedUrls,
    calls: [],
    cancelled: 0,
    doStream(options: never) {
      model.calls.push(options)
      const parts = [...(answers[next++] ?? [])]
      const stream = new ReadableStream({
        pull(controller) {
          const part = parts.shift()
          if (part === undefined) controller.close()
          else if (part instanceof Error) controller.error(part)
          else controller.enqueue(part)
        },
        cancel() {
          model.cancelled++
        },
      })
      return Promise.resolve({ stream, request: { body }, response: { headers } })
    },
  }
  return model
}

/** The text of an answer, as parts. */
export function said(text: string, id = '1'): readonly object[] {
  return [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: text },
    { type: 'text-end', id },
  ]
}

/** The response that parts make. */
export function responseOf(
  parts: readonly unknown[],
  version: Version = 'v3',
  options: AiSdkOptions = {},
) {
  const adapter = fromAiSdk(playedModel([parts], { version }), options)
  return generate(createEngine({ adapter, retry: false }), 'hi')
}

/** What is sent for a request. */
export async function sentFor(
  messages: readonly Message[],
  request: Partial<ModelRequest> = {},
  settings: PlaySettings & { readonly options?: AiSdkOptions } = {},
) {
  const { version } = settings
  const model = playedModel([[...said('ok'), finish(version)]], settings)
  const adapter = fromAiSdk(model, settings.options)
  const whole = { messages, tools: [], providerOptions: {}, metadata: {}, ...request }
  let warnings: readonly Warning[] = []
  for await (const batch of adapter.stream(whole)) {
    for (const event of batch) {
      if (event.type === 'message_started') warnings = event.warnings ?? []
    }
  }
  return { call: model.calls[0] as Call, warnings }
}
