import type { FormatOption } from '../contracts/options.ts'
import { foldEvent, type Collector } from '../run/collector.ts'
import { optionOf, type RunScene } from '../run/context.ts'
import type { ToolRun } from '../tools/tool-run.ts'
import type { Batch, StreamEvent } from '../types/events.ts'
import type { ToolSpec } from '../types/request.ts'
import type { HaltedReason } from '../types/results.ts'

/** A loop under way. Its state is the fold of every event that it has given. */
export interface Loop {
  readonly scene: RunScene
  readonly state: Collector
  readonly mode: 'auto' | 'manual'
  readonly maxTurns: number
  /** The form of the answer; with `finalize`, of the last answer only. */
  readonly format: FormatOption | undefined
  readonly finalize: boolean
  readonly tools: ToolRun
  /** What the model is told about the tools. It does not change from turn to turn, so a prompt cache holds. */
  readonly specs: readonly ToolSpec[]
  /** Model calls made. */
  turns: number
  /** Why the loop ends, once that is decided. */
  haltedReason: HaltedReason | undefined
}

/** Folds events that the loop makes by itself, shows them to the caller's observer, and gives them as a batch. */
export function say(loop: Loop, ...events: readonly StreamEvent[]): Batch {
  return sayAll(loop, events)
}

/** `say` for a batch that is there already. */
export function sayAll(loop: Loop, batch: Batch): Batch {
  const observer = optionOf(loop.scene, 'onEvent')
  for (const event of batch) {
    foldEvent(loop.state, event)
    observer?.(event)
  }
  return batch
}
