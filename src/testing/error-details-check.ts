import { adapterErrorReasons, streamErrorReasons } from '../errors/errors.ts'
import {
  count,
  fine,
  flag,
  isPlainObject,
  join,
  json,
  jsonObject,
  must,
  nearest,
  text,
  within,
  type Check,
} from '../schema/checks.ts'

/** The reason of a scripted provider failure. */
export const adapterReason: Check = reasonCheck(adapterErrorReasons)

/** The reason of a scripted transport failure. */
export const streamReason: Check = reasonCheck(streamErrorReasons)

/**
 * The facts of a scripted failure. The fields of our errors have to have the right type; any other field is kept as
 * metadata, unless it is one of ours in another spelling.
 */
export const errorDetails: Check = (value) => {
  let issues = jsonObject(value)
  if (issues.length > 0 || !isPlainObject(value)) return issues
  for (const [key, member] of Object.entries(value)) {
    const check = detailChecks[key]
    if (check !== undefined) issues = join(issues, within(key, check(member)))
    else if (isMisspelt(key)) issues = join(issues, [{ path: '', problem: misspelt(key) }])
  }
  return issues
}

const milliseconds: Check = must(
  'a number of milliseconds',
  (value) => typeof value === 'number' && value >= 0,
)

const detailChecks: Readonly<Record<string, Check>> = {
  message: text,
  status: count,
  retryAfterMs: milliseconds,
  retryable: flag,
  provider: text,
  requestId: text,
  eventIndex: must('a number of events', (value) => typeof value === 'number' && value >= 0),
  metadata: jsonObject,
  cause: json,
}

/** The fields that an error takes from its details; the others are its metadata. */
export const detailFields: readonly string[] = Object.keys(detailChecks)

function isMisspelt(key: string): boolean {
  const spelling = key.toLowerCase().replaceAll(/[_-]/g, '')
  return detailFields.some((field) => field.toLowerCase() === spelling)
}

function misspelt(key: string): string {
  return `has no field ${key}; did you mean ${nearest(key, detailFields) ?? 'another'}?`
}

function reasonCheck(reasons: readonly string[]): Check {
  return (value) => {
    if (reasons.some((reason) => reason === value)) return fine
    const meant = typeof value === 'string' ? nearest(value, reasons) : undefined
    const advice = meant === undefined ? '' : `; did you mean ${meant}?`
    const problem = `must be one of ${reasons.join(', ')}, not ${JSON.stringify(value)}${advice}`
    return [{ path: '', problem }]
  }
}
