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
  /** What may belong to the wrapper: all of its head so far, or a brace at the end and the spaces behind it. */
  let held = ''
  let place: 'head' | 'inside' | 'other' = wrapped ? 'head' : 'other'
  /** How much of the wrapper's head has come. */
  let seen = 0

  /** What a delta leaves to emit. Every character is read once. */
  const left = (delta: string): string => {
    if (place === 'other') return delta
    if (place === 'inside') {
      const end = delta.trimEnd().length
      if (end === 0 && held !== '') {
        held += delta
        return ''
      }
      const cut = delta.charAt(end - 1) === '}' ? end - 1 : delta.length
      const text = held + delta.slice(0, cut)
      held = delta.slice(cut)
      return text
    }
    held += delta
    for (let at = 0; at < delta.length; at++) {
      const char = delta.charAt(at)
      if (char === head.charAt(seen)) seen++
      else if (char.trim() !== '' || isInName(seen)) {
        place = 'other'
        const text = held
        held = ''
        return text
      }
      if (seen === head.length) {
        place = 'inside'
        held = ''
        return left(delta.slice(at + 1).trimStart())
      }
    }
    return ''
  }
  const push = (delta: string): string => {
    raw += delta
    const piece = left(delta)
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

/** The head of the wrapper. Spaces may be around its signs. */
const head = '{"value":'

/** Whether so much of the head ends inside the name, where no space may be. */
function isInName(seen: number): boolean {
  return seen > 1 && seen < head.length - 1
}

/** A call with its arguments in the form of the tool's own schema. */
export function restoredCall(call: ToolCall, { tools }: AnswerForms): ToolCall {
  const restored = tools.get(call.name)?.restore?.(call.arguments)
  if (restored === undefined || !isObject(restored)) return call
  const rawArguments = JSON.stringify(restored)
  if (rawArguments === JSON.stringify(call.arguments)) return call
  return { ...call, arguments: restored, rawArguments }
}
