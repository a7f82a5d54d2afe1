import type { JsonValue } from '../types/json.ts'
import type { WireFrame } from './wire-answer.ts'

/** Collects the frames of one answer. */
export interface FrameWriter {
  readonly frames: readonly WireFrame[]
  /** One event of a stream. */
  event(data: JsonValue, name?: string): void
  /** Bytes as they are. */
  text(text: string): void
  /** The next frame waits this much longer. A wait that nothing follows is dropped. */
  wait(ms: number): void
  /** The stream is whole: writes what closes it, if anything does. */
  end(): void
}

const encoder = new TextEncoder()

/** Writes server-sent events. */
export function frameWriter(): FrameWriter {
  const frames: WireFrame[] = []
  let pending = 0
  const text = (content: string): void => {
    const bytes = encoder.encode(content)
    frames.push(pending > 0 ? { bytes, delayMs: pending } : { bytes })
    pending = 0
  }
  return {
    frames,
    text,
    event(data, name) {
      const payload = `data: ${JSON.stringify(data)}\n\n`
      text(name === undefined ? payload : `event: ${name}\n${payload}`)
    },
    wait(ms) {
      pending += ms
    },
    end() {},
  }
}

/** Writes the items of one JSON array, as Gemini streams without `alt=sse`. */
export function jsonArrayWriter(): FrameWriter {
  const inner = frameWriter()
  let lead = '['
  return {
    ...inner,
    event(data) {
      inner.text(lead + JSON.stringify(data))
      lead = ',\r\n'
    },
    end: () => inner.text(lead === '[' ? '[]' : ']'),
  }
}
