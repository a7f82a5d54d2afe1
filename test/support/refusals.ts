import { expect } from 'vitest'
import type { Issue } from '../../src/data/error-data.ts'
import { ValidationError } from '../../src/errors/validation-error.ts'

/** The problems that a constructor refuses its input with. Fails when it does not, or with another error. */
export function refusalOf(make: () => unknown): readonly Issue[] {
  try {
    make()
  } catch (error) {
    expect(error).toBeInstanceOf(ValidationError)
    return (error as ValidationError).issues // the line above has made sure
  }
  throw new Error('nothing was refused')
}
