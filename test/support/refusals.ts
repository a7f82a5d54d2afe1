import { expect } from 'vitest'
import { ValidationError } from '../../src/errors/errors.ts'
import type { Issue } from '../../src/types/error-data.ts'

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
