import {
  assertValid,
  fine,
  isPlainObject,
  must,
  optionsOf,
  within,
  type Check,
} from '../schema/checks.ts'
import { checkImageScript } from './check-image-script.ts'
import { isScriptCursor } from './script-cursor.ts'

/** Refuses a script that is not legal, with the place of every problem, and options that an image fake does not have. */
export function checkFakeImagesOptions(options: unknown): void {
  const script = isPlainObject(options) ? (options['script'] ?? []) : []
  assertValid('invalid_script', within('script', checkImageScript(script)))
  assertValid('invalid_options', check(options))
}

const check: Check = optionsOf({
  script: () => fine,
  scriptCursor: must('made by createScriptCursor()', isScriptCursor),
  capture: must('a function', (value) => typeof value === 'function'),
})
