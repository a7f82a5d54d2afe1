import type { LoweredSchema } from '../schema/lower-schema.ts'
import { isObject, parseJson } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { ToolCall } from '../types/message.ts'

/** The schemas that a model answers by, in the forms in which they were sent. */
export interface AnswerForms {
  /** The form of the answer's text. */
  readonly answer?: LoweredSchema | undefined
  /** The tool whose arguments are the answer, for a model that has no other way to a format. */
  readonly answerTool?: string | undefined
  /** The forms of the arguments, by the name of the tool. */
  readonly tools: ReadonlyMap<string, LoweredSchema>
}

/** Reads the text of an answer that was asked for in another form than the caller's. */
export interface AnswerText {
  /** Takes a piece of the text. Returns what can be emitted of it by now. */
  push(delta: string): string
  /** Ends the text. `whole` replaces the pieces. Returns the last piece to emit, and the text in the caller's form. */
  end(whole?: string): { readonly rest: string; readonly text: string }
}

/**
 * Makes a reader of one text.
 *
 * A wrapped answer is unwrapped while it streams. Whatever else differs (a `null` for a property that is left out, the entries
 * of a map) is only settled in the whole text. A text that is not in the expected form is returned as it is.
 */
export function answerText({ wrapped, restore }: LoweredSchema): AnswerText {
  let raw = ''
  let emitted = ''
  let held = ''
  let place: 'head' | 'inside' | 'other' = wrapped ? 'head' : 'other'

  const push = (delta: string): string => {
    raw += delta
    held += delta
    if (place === 'head') {
      const head = /^\s*\{\s*"value"\s*:\s*/.exec(held)?.[0]
      if (head !== undefined) {
        place = 'inside'
        held = held.slice(head.length)
      } else if ('{"value":'.startsWith(held.replaceAll(/\s/g, ''))) return ''
      else place = 'other'
    }
    const cut = place === 'inside' ? closingBrace(held) : held.length
    const piece = held.slice(0, cut)
    held = held.slice(cut)
    emitted += piece
    return piece
  }

  return {
    push,
    end(whole) {
      const last = whole !== undefined && raw === '' ? push(whole) : ''
      const value = parseJson(whole ?? raw) as JsonValue | undefined
      if (value === undefined) return { rest: last + held, text: emitted + held }
      const text = JSON.stringify(restore === undefined ? value : restore(value))
      const isSame = JSON.stringify(parseJson(emitted)) === text
      return { rest: isSame ? last : last + held, text: isSame ? emitted : text }
    },
  }
}

/** The position of a brace at the end of a text: it may close the wrapper. */
function closingBrace(text: string): number {
  const end = text.trimEnd().length
  return text.charAt(end - 1) === '}' ? end - 1 : text.length
}

/** A call with its arguments in the form of the tool's own schema. */
export function restoredCall(call: ToolCall, { tools }: AnswerForms): ToolCall {
  const restored = tools.get(call.name)?.restore?.(call.arguments)
  if (restored === undefined || !isObject(restored)) return call
  const rawArguments = JSON.stringify(restored)
  if (rawArguments === JSON.stringify(call.arguments)) return call
  return { ...call, arguments: restored, rawArguments }
}
