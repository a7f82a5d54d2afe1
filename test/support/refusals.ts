import { expect } from 'vitest'
import { ValidationError } from '../../src/core/errors/errors.ts'
import type { Issue } from '../../src/core/types/error-data.ts'

/** The issues with which a constructor refuses its input. Throws if it accepts the input or throws another error. */
export function refusalOf(make: () => unknown): readonly Issue[] {
  try {
    make()
  } catch (error) {
    expect(error).toBeInstanceOf(ValidationError)
    return (error as ValidationError).issues // checked in the line above
  }
  throw new Error('nothing was refused')
}
