import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { providerOptions } from './choose-provider.ts'
import type { Command, CommandCall } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { timelineChart } from './timeline.ts'
import { resumed, stopped } from './tour-ending.ts'
import { answered, askedToPlan, streamed } from './tour-opening.ts'
import { createStage, type Stage } from './tour-stage.ts'

/** `allm tour`: the main job of the library in five acts. `npm start` runs it. */
export const tourCommand: Command = {
  name: 'tour',
  summary: 'see a run stream, call tools, ask, stop, save, resume and finish',
  synopsis: '[options]',
  options: {
    ...providerOptions,
    session: { value: '<file>', short: 's', help: 'keep the saved session in this file' },
    fast: { help: 'do not play the Fake at the pace of its script' },
  },
  notes: ['Where there is no terminal, the tour answers its own question.'],
  positionals: [0, 0],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const stage = createStage(call)
  const kept = call.text('session')
  const folder = kept === undefined ? await mkdtemp(join(tmpdir(), 'allm-tour-')) : undefined
  const path = kept ?? join(folder ?? '', 'tour.session.json')
  try {
    await perform(stage, path)
  } finally {
    await stage.output.flush()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }
  return exitCodes.ok
}

async function perform(stage: Stage, path: string): Promise<void> {
  stage.say(`allm tour on ${stage.partner}`)
  if (stage.isFake) stage.say('(a key in the environment, or --provider, takes it to a real model)')
  await streamed(stage)
  const asking = await askedToPlan(stage)
  const answer = await answered(stage, asking)
  await stopped(stage, asking, answer, path)
  await resumed(stage, answer, path)
  stage.say('')
  stage.say(stage.style.bold('What happened when'))
  stage.say('(░ waits for the model, █ is busy, ◆ is a moment)')
  for (const line of timelineChart(stage.log.rows)) stage.say(line)
}
