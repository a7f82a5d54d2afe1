import { judgeRequest } from '../core/answer/moderation.ts'
import type { Engine } from '../core/contracts/engine.ts'
import { validateModerationRequest } from '../core/schema/validate-moderation.ts'
import { isObject } from '../core/types/guards.ts'
import type { ImagePart, Message, TextPart } from '../core/types/message.ts'
import type { ModerationRequest, ModerationResponse } from '../core/types/models.ts'
import {
  modelCallOptions,
  settleModelCall,
  tracedCall,
  type ModelCallKind,
  type ModelCallOptions,
} from './call.ts'

/**
 * Judges whether content is harmful, by the categories of the provider.
 *
 * A text has one result, a list of texts one for each, in their order. The text and image parts of one message, or a message, are
 * judged together and have one. It uses the engine's `moderationAdapter` and `moderationModel`, never its chat adapter and model; most
 * providers have a default model. More texts or images than one call takes are judged in several calls, each of which is retried by
 * the engine's policy. An empty text is clean, and is not sent. A provider that gives no verdict fails the call with `malformed_response`: nothing is clean because nobody looked.
 */
export async function moderate(
  engine: Engine,
  input: ModerationInput,
  options: ModerationCallOptions = {},
): Promise<ModerationResponse> {
  const call = settleModelCall(engine, moderationCalls, options, (fields) => ({
    ...fields,
    input: inputOf(input),
  }))
  const { adapter, request, requestId } = call
  return tracedCall(call, moderationCalls, (attempt) =>
    judgeRequest(
      adapter,
      request,
      (one) => attempt((given) => adapter.moderate(one, given)),
      requestId,
    ),
  )
}

/** What `moderate` judges: a text, texts one by one, the parts of one message together, or a message. A file cannot be judged. */
export type ModerationInput =
  | string
  | readonly string[]
  | readonly (TextPart | ImagePart)[]
  | Message

/** Every option of a moderation call. */
export interface ModerationCallOptions extends ModelCallOptions {}

/** The input as a request has it. A caller without types may pass anything; the validator reports it. */
function inputOf(input: ModerationInput): ModerationRequest['input'] {
  if (typeof input === 'string') return [input]
  const content = isObject(input) && 'content' in input ? (input as Message).content : input
  // What else a message may have is refused by the validator.
  return (typeof content === 'string' ? [content] : content) as ModerationRequest['input']
}

const moderationCalls: ModelCallKind<'moderation', ModerationRequest, ModerationResponse> = {
  slot: 'moderation',
  span: 'moderate',
  options: modelCallOptions({}),
  request: validateModerationRequest,
  outcome: ({ flagged, id, model, usage }) => ({
    flagged,
    responseId: id,
    responseModel: model,
    usage,
  }),
}
