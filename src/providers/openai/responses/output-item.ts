/** A text that is under way: an `output_text` or a `refusal` of a message item. */
export interface TextBlock {
  /** Its place among the message's parts. */
  readonly slot: number
  readonly index: number | undefined
  readonly refusal: boolean
  text: string
  done: boolean
}

/** What is known of one output item while it is under way. */
export interface OutputItem {
  /** `output_index`, for our events; some servers do not number their items. */
  readonly index: number | undefined
  done: boolean
  /** The texts of a message by `content_index`. */
  readonly texts: Map<number, TextBlock>
  /** The place of a reasoning item among the message's parts. */
  slot: number | undefined
  /** What a reasoning item has said, or the arguments that a call has got, so far. */
  text: string
  /** The part of a reasoning item that is being written. */
  part: number
  /** The announced tool call, and its place among the message's calls. */
  call: { readonly slot: number; readonly id: string; readonly name: string } | undefined
}

export function outputItem(index: number | undefined): OutputItem {
  return {
    index,
    done: false,
    texts: new Map(),
    slot: undefined,
    text: '',
    part: 0,
    call: undefined,
  }
}
