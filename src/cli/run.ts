import { failure } from './cli-error.ts'
import type { Command, CommandCall } from './command.ts'
import { describeFailure } from './describe-error.ts'
import { eventFacts, json, usageFacts } from './event-facts.ts'
import { exitCodes } from './exit-codes.ts'
import { playScripts, type PlayedCall, type TimedEvent } from './play-scripts.ts'
import { readScriptFile } from './script-file.ts'

/** `allm run`: plays a script and shows what comes of it. */
export const runCommand: Command = {
  name: 'run',
  summary: 'play a script on the Fake and print the response or the events',
  synopsis: '<script.json> [options]',
  options: {
    json: { help: 'print JSON, one line a response (or an event)' },
    events: { help: 'print every event instead of the response' },
    'real-time': { help: 'really wait for the delays of the script' },
  },
  notes: [
    'A script file is a list of entries for one call, such as [["text", "Hello"], ["finish", "stop"]], a list of such\nlists for several calls, or an object with script or scripts. A path of - reads stdin.',
    'A script that ends in an error is a failed run (1); what came before the error is printed all the same.',
  ],
  positionals: [1, 1],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io, positionals } = call
  const [path = '-'] = positionals
  const { scripts } = await readScriptFile(path, io)
  const asJson = call.flag('json')
  const asEvents = call.flag('events')
  const say = (line: string): void => void io.stdout.write(`${line}\n`)
  const onEvent = (timed: TimedEvent): void => {
    if (asEvents) say(asJson ? JSON.stringify(timed.event) : eventLine(timed))
  }
  for await (const played of playScripts(scripts, call.flag('real-time'), onEvent)) {
    if (!asEvents) say(asJson ? JSON.stringify(played.response) : responseLines(played))
    const { error } = played.response
    if (error !== undefined) throw failure(`the script failed: ${describeFailure(error, io.env)}`)
  }
  return exitCodes.ok
}

function eventLine({ at, event }: TimedEvent): string {
  return `${String(at).padStart(6)} ms  ${event.type.padEnd(24)}  ${eventFacts(event)}`.trimEnd()
}

function responseLines({ response, durationMs }: PlayedCall): string {
  const { outputText, toolCalls, finishReason, usage } = response
  const facts = [finishReason, usageFacts(usage), `${durationMs} ms`].filter((fact) => fact !== '')
  return [
    ...(outputText === '' ? [] : [outputText]),
    ...toolCalls.map(({ name, arguments: args }) => `→ ${name} ${json(args)}`),
    `  (${facts.join(' · ')})`,
  ].join('\n')
}
