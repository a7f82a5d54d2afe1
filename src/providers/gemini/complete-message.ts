import { assistantMessage } from '../../make/assistant-message.ts'
import { closeBlock } from './answer.ts'
import type { Decoding } from './decode-chunk.ts'
import { finishReasonOf } from './finish-reason.ts'
import { parseUsage } from './parse-usage.ts'
import type { ModelEvent } from '../../types/events.ts'
import { defined } from '../../types/guards.ts'

/** Completes what is open and says how the answer ended. */
export function completeMessage(decoding: Decoding, finish: string, out: ModelEvent[]): void {
  const { answer, calls, metadata, usage } = decoding
  calls.close(out)
  closeBlock(answer, out)
  out.push(
    defined<ModelEvent & { type: 'message_completed' }>({
      type: 'message_completed',
      message: assistantMessage(answer.parts, answer.calls),
      finishReason: finishReasonOf(finish, answer.calls.length > 0),
      rawFinishReason: finish,
      usage: usage === undefined ? undefined : parseUsage(usage),
      metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    }),
  )
}
