import { clearBlocks } from './blocks.ts'
import { none, type Collector } from './collector-state.ts'

/** Forgets the message under way and its tools; what is completed stays. */
export function clearMessage(state: Collector): void {
  clearBlocks(state)
  state.calls = none
  state.end = undefined
  state.active = false
  state.usage = {}
  state.started = none
  state.results = none
  state.toolMessages = none
  state.halts = none
}
