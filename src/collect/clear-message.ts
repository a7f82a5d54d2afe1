import { noBlocks } from './blocks.ts'
import type { Collector } from './collector-state.ts'

/** Forgets the message under way and its tools; what is completed stays. */
export function clearMessage(state: Collector): void {
  Object.assign(state, noBlocks)
  state.calls = []
  state.end = undefined
  state.active = false
  state.usage = {}
  state.started = []
  state.results = []
  state.toolMessages = []
  state.halts = []
}
