import { noteAudio } from './chat-extras.ts'
import { detailText, mergeDetails } from './reasoning-details.ts'
import { textBlocks, type TextBlocks } from './text-blocks.ts'
import { toolFragments, type ToolFragments } from './tool-fragments.ts'
import { noteList, type MessageDraft } from '../message-draft.ts'
import { addImage } from '../message-events.ts'
import { parseImage } from '../parse-image.ts'
import { asList, asObject, asText } from '../wire-value.ts'
import type { ModelEvent } from '../../../types/events.ts'
import type { JsonObject, JsonValue } from '../../../types/json.ts'

/** Reads what a delta adds to the answer. A whole message is one big delta. */
export interface DeltaReader {
  take(delta: JsonObject, whole: boolean, out: ModelEvent[]): void
  /** Ends every block and completes every call. */
  end(out: ModelEvent[]): void
}

/**
 * Reads the deltas of OpenAI and of the servers that speak its language.
 *
 * Reasoning is `reasoning_content` (DeepSeek, llama.cpp, xAI), `reasoning` (Ollama, Groq, OpenRouter), `reasoning_text` or
 * `thinking` (proxies), or a part of the content (Mistral). In one delta it comes before the text, and the text before the
 * calls.
 */
export function deltaReader(draft: MessageDraft, newId: () => string): DeltaReader {
  const answer: Answer = {
    draft,
    blocks: textBlocks(draft),
    tools: toolFragments(draft, newId),
    details: [],
  }
  return {
    take: (delta, whole, out) => takeDelta(answer, delta, whole, out),
    end(out) {
      answer.blocks.end(out)
      answer.tools.end(out)
    },
  }
}

interface Answer {
  readonly draft: MessageDraft
  readonly blocks: TextBlocks
  readonly tools: ToolFragments
  /** The `reasoning_details` of the reasoning that is under way. */
  details: readonly JsonObject[]
}

function takeDelta(answer: Answer, delta: JsonObject, whole: boolean, out: ModelEvent[]): void {
  const { draft, blocks } = answer
  const content = delta['content']
  const thought = reasoningField(delta)
  if (thought !== undefined) takeReasoning(answer, delta, thought, out)
  if (typeof content === 'string') {
    if (content !== '') blocks.text(content, out)
  } else if (content) {
    for (const part of asList(content)) takePart(answer, asObject(part) ?? {}, out)
  }
  if (delta['refusal']) takeRefusal(answer, delta['refusal'], out)
  if (delta['tool_calls'] || delta['function_call']) takeTools(answer, delta, whole, out)
  if (delta['images']) for (const image of asList(delta['images'])) takeImage(answer, image, out)
  if (delta['annotations']) noteList(draft, 'annotations', delta['annotations'])
  if (delta['audio']) noteAudio(draft, delta['audio'])
}

const reasoningFields = [
  'reasoning_content',
  'reasoning',
  'reasoning_text',
  'thinking',
  'reasoning_details',
] as const

/** The member of a delta that holds reasoning; in words, if it has them. */
function reasoningField(delta: JsonObject): string | undefined {
  for (const name of reasoningFields) if (delta[name]) return name
  return undefined
}

function takeReasoning(answer: Answer, delta: JsonObject, field: string, out: ModelEvent[]): void {
  const { blocks } = answer
  const text = delta[field]
  const pieces = asList(delta['reasoning_details'])
  if (typeof text === 'string' && text !== '') {
    blocks.reasoning(text, out)
    blocks.opaque ??= { field }
  } else {
    for (const piece of pieces) blocks.reasoning(detailText(asObject(piece) ?? {}), out)
  }
  if (pieces.length === 0) return
  const begun = asObject(blocks.opaque)?.['reasoning_details'] === undefined
  answer.details = mergeDetails(begun ? [] : answer.details, pieces)
  blocks.opaque = { reasoning_details: answer.details }
}

/** A part of content that is a list, as Mistral sends it. */
function takePart(answer: Answer, part: JsonObject, out: ModelEvent[]): void {
  const { blocks } = answer
  const { thinking } = part
  for (const thought of typeof thinking === 'string' ? [thinking] : asList(thinking)) {
    const said = asText(thought) ?? asText(asObject(thought)?.['text'])
    if (said !== undefined) blocks.reasoning(said, out)
  }
  const text = asText(part['text'])
  if (text !== undefined) blocks.text(text, out)
  else takeImage(answer, part, out)
}

function takeImage({ draft }: Answer, value: JsonValue, out: ModelEvent[]): void {
  const image = parseImage(value)
  if (image !== undefined) addImage(draft, image, out)
}

function takeRefusal({ draft, blocks }: Answer, refusal: JsonValue, out: ModelEvent[]): void {
  if (typeof refusal !== 'string') return
  draft.refusal += refusal
  blocks.text(refusal, out)
}

function takeTools(answer: Answer, delta: JsonObject, whole: boolean, out: ModelEvent[]): void {
  const { blocks, tools } = answer
  const fragments = asList(delta['tool_calls'])
  if (fragments.length > 0) blocks.endReasoning(out)
  fragments.forEach((value, position) => {
    const fragment = asObject(value)
    if (fragment !== undefined) tools.take(fragment, whole ? position : undefined, out)
  })
  if (delta['function_call']) tools.take({ function: delta['function_call'] }, 0, out)
}
