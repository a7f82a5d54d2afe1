/** The keys that the library sets in the metadata of messages. `test/session/marks.test.ts` makes each of them, and finds no other. */
export const messageMarks = [
  'partial',
  'paused',
  'isError',
  'denied',
  'approvedArguments',
  'interrupted',
  'reason',
  'reported',
  'pending',
  'askUser',
  'answeredByUser',
  'lateResultOf',
  'repair',
  'structuredFinalize',
  'compacted',
  'at',
] as const
