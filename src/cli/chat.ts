import { chatLoop } from './chat-loop.ts'
import { chatTools } from './chat-tools.ts'
import { chooseProvider, providerOptions, type ChosenProvider } from './choose-provider.ts'
import type { Command, CommandCall } from './command.ts'
import { demoAdapter } from './demo-adapter.ts'
import type { Engine } from '../contracts/engine.ts'
import { systemClock } from '../core/clock.ts'
import { createEngine } from '../run/engine.ts'

/** `allm chat`: a conversation in the terminal. */
export const chatCommand: Command = {
  name: 'chat',
  summary: 'talk to a model in the terminal; Ctrl-C stops a turn and keeps it',
  synopsis: '[options]',
  options: {
    ...providerOptions,
    system: { value: '<text>', help: 'instructions for a new conversation' },
    session: { value: '<file>', short: 's', help: 'go on from this file, and save to it' },
    'no-tools': { help: 'offer no tools' },
  },
  notes: [
    'During a turn, Ctrl-C stops the model and keeps what it said; a second Ctrl-C leaves. Ctrl-D and /quit leave as well.\n/help lists the other commands.',
  ],
  positionals: [0, 0],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io } = call
  const provider = chooseProvider(call)
  return chatLoop({
    io,
    engine: engineFor(call, provider),
    partner: provider === undefined ? 'the Fake, offline' : `${provider.name} ${provider.model}`,
    path: call.text('session'),
    system: call.text('system'),
  })
}

function engineFor(call: CommandCall, provider: ChosenProvider | undefined): Engine {
  return createEngine({
    adapter: provider?.adapter ?? demoAdapter(),
    model: provider?.model,
    keys: provider?.keys,
    clock: call.io.clock ?? systemClock,
    tools: call.flag('no-tools') ? [] : chatTools,
  })
}
