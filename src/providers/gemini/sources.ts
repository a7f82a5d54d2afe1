import { defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Source } from '../../core/types/message.ts'
import { asList, asText } from '../shared/read-json.ts'
import { bytesOf, positionsOf } from '../shared/text-positions.ts'

/** A source, and the statement that it supports. The places count the bytes of the text. */
interface Cited {
  readonly source: Source
  readonly start?: number
  readonly end?: number
  /** The statement, as Gemini repeats it. */
  readonly quote?: JsonValue | undefined
}

/**
 * The sources of an answer: the chunks of its grounding, once for each statement that they support, and its citations.
 *
 * `metadata` is what Gemini sent beside the answer, `text` the text of the answer.
 */
export function sourcesOf(metadata: JsonObject, text: string, provider: string): readonly Source[] {
  const { groundingMetadata, citationMetadata } = metadata
  const cited = [
    ...(isObject(groundingMetadata) ? grounding(groundingMetadata, provider) : []),
    ...(isObject(citationMetadata) ? citations(citationMetadata, provider) : []),
  ]
  const counted = cited.flatMap(({ start, end }) => (end === undefined ? [] : [start ?? 0, end]))
  const places = counted.length === 0 ? undefined : positionsOf(text, counted, bytesOf)
  let searches = 0
  return cited.map(({ source, start = 0, end, quote }) => {
    if (end === undefined) return source
    const from = places?.get(start)
    const to = places?.get(end)
    if (typeof quote !== 'string' || text.slice(from, to) === quote) {
      return defined<Source>(Object.assign({}, source, { start: from, end: to }))
    }
    // In an answer of several parts the places are those in a part. The statement itself is found then.
    const at = searches++ < mostSearches ? text.indexOf(quote) : -1
    return at === -1 ? source : Object.assign({}, source, { start: at, end: at + quote.length })
  })
}

/** A search reads the whole text, so an answer has only so many. */
const mostSearches = 100

/** A chunk that supports nothing has no place. The passage of a chunk is on its first source only. */
function grounding(wire: JsonObject, provider: string): readonly Cited[] {
  const chunks = list(wire['groundingChunks']).map((chunk, index) =>
    readChunk(chunk, index, provider),
  )
  const seen = new Set<number>()
  const cited: Cited[] = []
  for (const support of list(wire['groundingSupports'])) {
    const segment = isObject(support['segment']) ? support['segment'] : {}
    const { startIndex = 0, endIndex, text: quote } = segment
    for (const value of asList(support['groundingChunkIndices'])) {
      const index = Number(value)
      const chunk = chunks[index]
      if (chunk === undefined) continue
      const { text: _passage, ...again } = chunk
      const source = seen.has(index) ? again : chunk
      seen.add(index)
      cited.push(
        isPlace(startIndex) && isPlace(endIndex)
          ? { source, start: startIndex, end: endIndex, quote }
          : { source },
      )
    }
  }
  return [
    ...cited,
    ...chunks.flatMap((source, index) =>
      source === undefined || seen.has(index) ? [] : [{ source }],
    ),
  ]
}

function readChunk(chunk: JsonObject, index: number, provider: string): Source | undefined {
  const { web, maps, retrievedContext } = chunk
  const members = list([web ?? null, maps ?? null, retrievedContext ?? null])[0]
  if (members === undefined) return undefined
  return defined<Source>({
    type: isObject(retrievedContext) ? 'file' : 'url',
    url: word(members['uri']),
    title: word(members['title']),
    text: asText(members['text']),
    providerMetadata: { [provider]: { groundingChunk: index } },
  })
}

/** Vertex has another name for the list. */
function citations(wire: JsonObject, provider: string): readonly Cited[] {
  return list(wire['citationSources'] ?? wire['citations']).map((citation) => {
    const { startIndex = 0, endIndex } = citation
    const source = defined<Source>({
      type: 'url',
      url: word(citation['uri']),
      title: word(citation['title']),
      providerMetadata: { [provider]: citation },
    })
    return isPlace(startIndex) && isPlace(endIndex)
      ? { source, start: startIndex, end: endIndex }
      : { source }
  })
}

function list(value: JsonValue | undefined): readonly JsonObject[] {
  // The items come from JSON.parse.
  return asList(value).filter(isObject) as readonly JsonObject[]
}

function isPlace(value: JsonValue | undefined): value is number {
  return Number.isInteger(value) && Number(value) >= 0
}

/** A text that is repeated with every statement, so a very long one is not kept. */
function word(value: JsonValue | undefined): string | undefined {
  const text = asText(value)
  return text !== undefined && text.length <= 4096 ? text : undefined
}
