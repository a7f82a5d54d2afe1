/** What the program's exit code says. */
export const exitCodes = {
  /** Everything that was asked for was done. */
  ok: 0,
  /** The run failed: a provider refused, a file can not be read, a script ends in an error. */
  failed: 1,
  /** The command line is wrong; nothing was done. */
  usage: 2,
  /** Left by Ctrl-C. */
  interrupted: 130,
} as const

/** The exit codes in words, for the help. */
export const exitCodeLines: readonly string[] = [
  '0    done',
  '1    the run failed; one line on stderr says why',
  '2    wrong usage; nothing was done',
  '130  left by Ctrl-C',
]
