import { failure } from './cli-error.ts'
import type { Command, CommandCall } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { readSession } from './session-file.ts'
import { transcript } from './transcript.ts'

/** `allm session show`: a saved session for people. */
export const sessionShowCommand: Command = {
  name: 'session show',
  summary: 'print a saved session: transcript, status, and what is legal next',
  synopsis: '<file> [options]',
  options: { json: { help: 'print the session as JSON, of the newest version' } },
  notes: ['It reads what Session.stringify, fileStore and allm chat --session write.'],
  positionals: [1, 1],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io, positionals } = call
  const [path = ''] = positionals
  const session = await readSession(path)
  if (session === undefined) throw failure(`can not read ${path}: there is no such file`)
  const text = call.flag('json') ? JSON.stringify(session, null, 2) : transcript(session, io)
  io.stdout.write(`${text}\n`)
  return exitCodes.ok
}
