import type { Tool } from '../contracts/tool.ts'
import { checkCut } from './check-cut.ts'
import type { CrashReport, CrashScenario, Runs } from './crash-scenario.ts'
import { startLife } from './life.ts'
import { live, type Ending } from './live.ts'
import { parseSession, stringifySession } from '../session/saved.ts'
import type { Session } from '../types/session.ts'

/**
 * Proves that a run can be cut anywhere: it is cut after every one of its events, saved as text, read back, and resumed by an
 * engine of its own. Every resumed run has to end in the thread and the status of the uncut one.
 *
 * A handler whose result was stored must not run again. One that was started and left no result may run again only if its tool is
 * `idempotent`; else its call has to be answered as interrupted. Rejects with the first cut that diverges.
 */
export async function crashAtEveryEvent(scenario: CrashScenario): Promise<CrashReport> {
  const runs: Runs = new Map()
  const uncut = await rehearse(scenario, Number.POSITIVE_INFINITY, runs)
  for (let cut = 1; cut <= uncut.moments; cut++) {
    const cutRuns: Runs = new Map()
    checkCut(uncut, await rehearse(scenario, cut, cutRuns), cut, cutRuns)
  }
  const toolRuns: Record<string, number> = {}
  for (const { tool, times } of runs.values()) {
    toolRuns[tool.name] = (toolRuns[tool.name] ?? 0) + times
  }
  return { events: uncut.events, cuts: uncut.moments, toolRuns }
}

/** Runs a scenario to its end, through a crash at the moment `cut`. */
async function rehearse(scenario: CrashScenario, cut: number, runs: Runs): Promise<Ending> {
  const ran = (tool: Tool, id: string): void => {
    const known = runs.get(id)
    if (known === undefined) runs.set(id, { tool, times: 1 })
    else known.times++
  }
  const first = startLife(scenario, 0, ran)
  const before = await live(scenario, first, undefined, cut)
  if (before.ended) return before
  const saved: Session = parseSession(stringifySession(before.session))
  const second = startLife(scenario, first.completedCalls(), ran)
  const after = await live(scenario, second, saved, Number.POSITIVE_INFINITY)
  return { ...after, started: before.started }
}
