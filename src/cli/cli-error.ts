import { exitCodes } from './exit-codes.ts'

/** Ends the program with one line and an exit code. The message says what to do about it. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: number

  constructor(exitCode: number, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** The command line is wrong. */
export function usageError(message: string): CliError {
  return new CliError(exitCodes.usage, message)
}

/** What was asked for could not be done. */
export function failure(message: string, cause?: unknown): CliError {
  return new CliError(exitCodes.failed, message, { cause })
}
