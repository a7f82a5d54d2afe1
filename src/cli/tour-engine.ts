import type { ChosenProvider } from './choose-provider.ts'
import { tourTools } from './tour-tools.ts'
import type { Engine } from '../contracts/engine.ts'
import type { Clock } from '../core/clock.ts'
import { createEngine } from '../run/engine.ts'
import { fake } from '../testing/fake.ts'
import type { Script } from '../testing/script.ts'

/** Makes a new engine. The fake plays the scripts; a real provider answers by itself. */
export type EngineMaker = (scripts: readonly Script[]) => Engine

/** The maker of the tour's engines. */
export function engineMaker(provider: ChosenProvider | undefined, clock: Clock): EngineMaker {
  const tools = tourTools(clock)
  return (scripts) =>
    createEngine({
      adapter: provider?.adapter ?? fake({ scripts }),
      model: provider?.model,
      keys: provider?.keys,
      clock,
      tools,
    })
}
