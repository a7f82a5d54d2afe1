import type { StoreCapability } from '../capabilities.ts'
import type { ConformanceCase, Declares } from '../conformance-case.ts'
import type { Session } from '../../types/session.ts'

/** A `SessionStore`, by its shape. */
export interface TestedStore {
  load(id: string): Promise<{ readonly session: Session; readonly version: number } | undefined>
  save(session: Session, options?: { readonly ifVersion?: number | undefined }): Promise<number>
}

/** How to make an empty store. */
export interface StoreHarness extends Declares<StoreCapability> {
  start(): StartedStore | Promise<StartedStore>
}

/** A store, and what can be done to what it stands on. */
export interface StartedStore {
  readonly store: TestedStore
  /** Another store on the same place, as another process would open it. */
  readonly reopen?: (() => TestedStore | Promise<TestedStore>) | undefined
  /** Makes what is saved under an id unreadable. */
  readonly damage?: ((id: string) => unknown) | undefined
  /** Makes the next save fail in the middle of its write. */
  readonly interruptNextSave?: (() => unknown) | undefined
  /** Ends what is still open. Called once, after the case. */
  readonly close?: (() => unknown) | undefined
}

/** A case for session stores. */
export type StoreCase = ConformanceCase<StoreHarness, StoreCapability>
