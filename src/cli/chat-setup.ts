import type { Io } from './io.ts'
import type { Engine } from '../contracts/engine.ts'

/** What a chat is made of. */
export interface ChatSetup {
  readonly io: Io
  readonly engine: Engine
  /** Who answers, in words. */
  readonly partner: string
  /** Where the session is kept, if it is. */
  readonly path: string | undefined
  /** Instructions for a new conversation. */
  readonly system: string | undefined
}
