import type { ConformanceCase, Declares } from '../conformance-case.ts'
import type { ToolExecutor } from '../../contracts/tool.ts'

/** An executor to be tested. */
export interface ExecutorHarness extends Declares<never> {
  readonly executor: ToolExecutor
  /** How long a case waits in real time for a handler (2000). */
  readonly patienceMs?: number | undefined
}

/** A case for tool executors. */
export type ExecutorCase = ConformanceCase<ExecutorHarness, never>
