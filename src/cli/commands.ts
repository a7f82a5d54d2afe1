import { chatCommand } from './chat.ts'
import type { Command } from './command.ts'
import { doctorCommand } from './doctor.ts'
import { runCommand } from './run.ts'
import { serveCommand } from './serve.ts'
import { sessionShowCommand } from './session-show.ts'
import { tourCommand } from './tour.ts'

/** Every command, in the order in which the help lists them. */
export const commands: readonly Command[] = [
  tourCommand,
  chatCommand,
  runCommand,
  serveCommand,
  sessionShowCommand,
  doctorCommand,
]
