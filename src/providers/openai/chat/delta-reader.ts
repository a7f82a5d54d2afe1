import type { JsonObject } from '../../../data/json.ts'
import type { ModelEvent } from '../../../events/model-event.ts'
import { noteList, type MessageDraft } from '../message-draft.ts'
import { addImage } from '../message-events.ts'
import { parseImage } from '../parse-image.ts'
import { asList, asObject, asText } from '../wire-value.ts'
import { noteAudio } from './chat-extras.ts'
import { detailText, mergeDetails } from './reasoning-details.ts'
import { textBlocks } from './text-blocks.ts'
import { toolFragments } from './tool-fragments.ts'

/** Reads what a delta adds to the answer. A whole message is one big delta. */
export interface DeltaReader {
  take(delta: JsonObject, whole: boolean, out: ModelEvent[]): void
  /** Ends every block and completes every call. */
  end(out: ModelEvent[]): void
}

/**
 * Reads the deltas of OpenAI and of the servers that speak its language.
 *
 * Reasoning is `reasoning_content` (DeepSeek, llama.cpp, xAI), `reasoning` (Ollama, Groq, OpenRouter) or a part of the
 * content (Mistral). In one delta it comes before the text, and the text before the calls.
 */
export function deltaReader(draft: MessageDraft, newId: () => string): DeltaReader {
  const blocks = textBlocks(draft)
  const tools = toolFragments(draft, newId)
  let details: readonly JsonObject[] = []

  const takeReasoning = (delta: JsonObject, out: ModelEvent[]): void => {
    const field = delta['reasoning_content'] ? 'reasoning_content' : 'reasoning'
    const text = delta[field]
    const pieces = asList(delta['reasoning_details'])
    if (typeof text === 'string' && text !== '') {
      blocks.reasoning(text, out)
      blocks.opaque ??= { field }
    } else {
      for (const piece of pieces) blocks.reasoning(detailText(asObject(piece) ?? {}), out)
    }
    if (pieces.length === 0) return
    if (asObject(blocks.opaque)?.['reasoning_details'] === undefined) details = []
    details = mergeDetails(details, pieces)
    blocks.opaque = { reasoning_details: details }
  }

  const takeParts = (parts: readonly unknown[], out: ModelEvent[]): void => {
    for (const value of parts) {
      const part = asObject(value) ?? {}
      const text = asText(part['text'])
      for (const thought of asList(part['thinking'])) {
        const said = asText(asObject(thought)?.['text'])
        if (said !== undefined) blocks.reasoning(said, out)
      }
      if (part['type'] === 'text' && text !== undefined) blocks.text(text, out)
      else takeImage(part, out)
    }
  }

  const takeImage = (value: unknown, out: ModelEvent[]): void => {
    const image = parseImage(value)
    if (image !== undefined) addImage(draft, image, out)
  }

  const takeRefusal = (refusal: unknown, out: ModelEvent[]): void => {
    if (typeof refusal !== 'string') return
    draft.refusal += refusal
    blocks.text(refusal, out)
  }

  const takeTools = (delta: JsonObject, whole: boolean, out: ModelEvent[]): void => {
    const fragments = asList(delta['tool_calls'])
    if (fragments.length > 0) blocks.endReasoning(out)
    fragments.forEach((value, position) => {
      const fragment = asObject(value)
      if (fragment !== undefined) tools.take(fragment, whole ? position : undefined, out)
    })
    if (delta['function_call']) tools.take({ function: delta['function_call'] }, 0, out)
  }

  return {
    take(delta, whole, out) {
      const content = delta['content']
      if (delta['reasoning_content'] || delta['reasoning'] || delta['reasoning_details']) {
        takeReasoning(delta, out)
      }
      if (typeof content === 'string') {
        if (content !== '') blocks.text(content, out)
      } else if (content) {
        takeParts(asList(content), out)
      }
      if (delta['refusal']) takeRefusal(delta['refusal'], out)
      if (delta['tool_calls'] || delta['function_call']) takeTools(delta, whole, out)
      if (delta['images']) for (const image of asList(delta['images'])) takeImage(image, out)
      if (delta['annotations']) noteList(draft, 'annotations', delta['annotations'])
      if (delta['audio']) noteAudio(draft, delta['audio'])
    },
    end(out) {
      blocks.end(out)
      tools.end(out)
    },
  }
}
