import { styleText } from 'node:util'
import type { Io, Output } from './io.ts'

/** Dresses text for a terminal; leaves it alone everywhere else. */
export interface Style {
  dim(text: string): string
  bold(text: string): string
  good(text: string): string
  bad(text: string): string
}

/** Colours when the stream is a terminal and `NO_COLOR` is not set. */
export function styleFor(stream: Output, env: Io['env']): Style {
  const plain = stream.isTTY !== true || (env['NO_COLOR'] ?? '') !== ''
  const dress = (format: 'dim' | 'bold' | 'green' | 'red') => (text: string) =>
    plain ? text : styleText(format, text, { validateStream: false })
  return { dim: dress('dim'), bold: dress('bold'), good: dress('green'), bad: dress('red') }
}
