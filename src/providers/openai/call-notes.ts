import type { AdapterOptions } from '../../contracts/adapter.ts'
import { randomId } from '../../core/ids.ts'

/** What becomes known of a call beside its answer, and ends in the answer's metadata. */
export interface CallNotes {
  readonly provider: string
  readonly requestId: string
  /** What the model's family refuses and the request had, in the request's own names. */
  dropped: readonly string[]
  /** The provider's id of the call, from its headers. */
  providerRequestId: string | undefined
  /** Takes the key out of a text. */
  clean: (text: string) => string
}

/** What a decoder needs beside the bytes. */
export interface DecoderOptions {
  readonly notes: CallNotes
  /** Makes an id for a call that came without one. */
  readonly newId: () => string
  /** Also give `raw_chunk` events. */
  readonly rawChunks: boolean
}

/** The notes of a new call, and what its decoder needs. */
export function decoderOptions(provider: string, options: AdapterOptions): DecoderOptions {
  const newId = options.newId ?? randomId
  return {
    notes: {
      provider,
      requestId: options.requestId ?? newId('request'),
      dropped: [],
      providerRequestId: undefined,
      clean: (text) => text,
    },
    newId: () => newId('call'),
    rawChunks: options.includeRawChunks === true,
  }
}
