import type { Clock } from '../async/clock.ts'
import type { NewId } from '../async/new-id.ts'
import type { JsonObject } from '../data/json.ts'
import type { CallOptions } from './call-options.ts'
import type { ChatAdapter } from './chat-adapter.ts'
import type { Engine } from './engine-handle.ts'
import type { ImageAdapter } from './image-adapter.ts'
import type { RetryOption } from './retry-policy.ts'
import type { Tool, ToolExecutor, ToolResultEncoder } from './tool.ts'

/** Finds the key of a provider, at each call anew. `undefined` means: look elsewhere. */
export type KeySource = (provider: string) => string | undefined

/** The call options that an engine may hold defaults for. A key is not among them. */
export type CallDefaults = Omit<
  CallOptions,
  'model' | 'tools' | 'context' | 'retry' | 'signal' | 'requestId' | 'apiKey'
>

/** What an engine is made of. Everything is optional; what a call needs and does not find is a typed error. */
export interface EngineOptions extends CallDefaults {
  readonly adapter?: ChatAdapter | undefined
  readonly model?: string | undefined
  readonly tools?: readonly Tool[] | undefined
  readonly imageAdapter?: ImageAdapter | undefined
  readonly imageModel?: string | undefined
  /** Handed to tool handlers. */
  readonly context?: JsonObject | undefined
  readonly retry?: RetryOption | undefined
  /** A function for many tenants, or a record. Neither is ever shown again. */
  readonly keys?: KeySource | Readonly<Record<string, string>> | undefined
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
  readonly toolExecutor?: ToolExecutor | undefined
  readonly toolResultEncoder?: ToolResultEncoder | undefined
}

/** What an engine holds inside. The rooms of this library read it; users pass the engine around whole. */
export interface EngineParts extends Engine {
  readonly adapter: ChatAdapter | undefined
  readonly tools: readonly Tool[]
  readonly imageAdapter: ImageAdapter | undefined
  readonly retry: RetryOption | undefined
  readonly keys: KeySource | undefined
  readonly clock: Clock
  readonly newId: NewId
  readonly toolExecutor: ToolExecutor | undefined
  readonly toolResultEncoder: ToolResultEncoder | undefined
  /** The defaults of call options. */
  readonly defaults: CallDefaults
}
