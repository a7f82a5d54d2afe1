import { setTimeout } from 'node:timers/promises'
import { chooseProvider } from './choose-provider.ts'
import type { CommandCall } from './command.ts'
import type { Io } from './io.ts'
import { pacer, type Pacer } from './pacer.ts'
import { styleFor, type Style } from './style.ts'
import { timeline, type Timeline } from './timeline.ts'
import { engineMaker, type EngineMaker } from './tour-engine.ts'
import { systemClock, type Clock } from '../core/clock.ts'
import { virtualClock } from '../testing/virtual-clock.ts'

/** Where the tour takes place. */
export interface Stage {
  readonly io: Io
  /** Who answers, in words. */
  readonly partner: string
  readonly isFake: boolean
  readonly clock: Clock
  readonly log: Timeline
  readonly style: Style
  readonly output: Pacer
  readonly engine: EngineMaker
  readonly say: (line: string) => void
}

/**
 * Sets the stage: on the fake with a virtual clock, so that nothing waits and every run is the same, or with a real provider.
 *
 * At a terminal the fake is shown at the pace that its script has, unless `--fast`.
 */
export function createStage(call: CommandCall): Stage {
  const { io } = call
  const provider = chooseProvider(call)
  const clock = io.clock ?? (provider === undefined ? virtualClock() : systemClock)
  const live = provider === undefined && io.stdout.isTTY === true && !call.flag('fast')
  const output = pacer(io.stdout, clock, live ? setTimeout : undefined)
  return {
    io,
    partner:
      provider === undefined
        ? 'the Fake: scripted, offline, the same every time'
        : `${provider.name} ${provider.model}`,
    isFake: provider === undefined,
    clock,
    log: timeline(clock),
    style: styleFor(io.stdout, io.env),
    output,
    engine: engineMaker(provider, clock),
    say: (line) => output.write(`${line}\n`),
  }
}
