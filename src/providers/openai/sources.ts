import { defined } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Source } from '../../core/types/message.ts'
import { asCount, asList, asObject, asText } from '../shared/read-json.ts'
import { positionsOf } from '../shared/text-positions.ts'

/**
 * The annotations of a text as sources. `offset` is where the text begins in the message; without it they have no places.
 *
 * Both APIs count characters, not the units of a JavaScript string. Annotations of unknown types are left out; they are in the
 * metadata of the response.
 */
export function sourcesOf(
  annotations: readonly JsonValue[],
  { text, offset, provider }: { text: string; offset: number | undefined; provider: string },
): readonly Source[] {
  const read = annotations.flatMap((value) => {
    const annotation = asObject(value)
    const source = annotation && readAnnotation(annotation)
    return annotation === undefined || source === undefined ? [] : [{ annotation, ...source }]
  })
  const counted = read.flatMap(({ start, end }) => [start ?? [], end ?? []].flat())
  const places = counted.length === 0 ? undefined : positionsOf(text, counted)
  const place = (at: number | undefined): number | undefined => {
    const found = at === undefined ? undefined : places?.get(at)
    return found === undefined || offset === undefined ? undefined : offset + found
  }
  return read.map(({ annotation, start, end, ...source }) =>
    defined<Source>({
      ...source,
      start: place(start),
      end: place(end),
      providerMetadata: { [provider]: annotation },
    }),
  )
}

type Annotated = Pick<Source, 'type'> & {
  readonly [Key in 'url' | 'title']: string | undefined
} & { readonly [Key in 'start' | 'end']: number | undefined }

/** Chat Completions has the members of an annotation in an object that is named as its type. */
function readAnnotation(wire: JsonObject): Annotated | undefined {
  const type = asText(wire['type']) ?? ''
  const members = asObject(wire[type]) ?? wire
  const url = asText(members['url'])
  const file = asText(members['file_id']) ?? asText(members['filename'])
  if (url === undefined && file === undefined) return undefined
  const point = place(members['index'])
  return {
    type: url === undefined ? 'file' : 'url',
    url,
    title: asText(members['title']) ?? asText(members['filename']),
    start: place(members['start_index']) ?? point,
    end: place(members['end_index']) ?? point,
  }
}

function place(value: JsonValue | undefined): number | undefined {
  const count = asCount(value)
  return count === undefined || count < 0 ? undefined : Math.floor(count)
}

/** The addresses that some compatible servers list beside an answer, in `citations`. */
export function listedSources(citations: JsonValue | undefined): readonly Source[] {
  return asList(citations).flatMap((value) => {
    const url = asText(value)
    return url === undefined ? [] : [{ type: 'url', url }]
  })
}
