import { ValidationError } from '../core/errors/errors.ts'

/**
 * How near two vectors are: 1 for the same direction, 0 for none in common, -1 for the opposite. A vector of zeros has no direction, and
 * is 0 to every other.
 *
 * Vectors of different lengths, or with a value that is not a finite number, are a `ValidationError`: they come from different models, or
 * from a mistake.
 */
export function cosineSimilarity(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) {
    const problem = `must have as many numbers as a, ${a.length}, not ${b.length}: they come from different models or dimensions`
    throw new ValidationError('invalid_request', [{ path: 'b', problem }])
  }
  // By the largest value, so that no square is too large or too small for a number.
  const scaleA = largest(a, 'a')
  const scaleB = largest(b, 'b')
  if (scaleA === 0 || scaleB === 0) return 0
  let product = 0
  let squareA = 0
  let squareB = 0
  for (let at = 0; at < a.length; at++) {
    const x = (a[at] ?? 0) / scaleA
    const y = (b[at] ?? 0) / scaleB
    product += x * y
    squareA += x * x
    squareB += y * y
  }
  // Rounding may lead a little beyond 1.
  return Math.max(-1, Math.min(1, product / Math.sqrt(squareA) / Math.sqrt(squareB)))
}

function largest(vector: ArrayLike<number>, path: string): number {
  let most = 0
  for (let at = 0; at < vector.length; at++) {
    const size = Math.abs(vector[at] ?? Number.NaN)
    if (!Number.isFinite(size)) {
      const problem = 'must be a finite number'
      throw new ValidationError('invalid_request', [{ path: `${path}[${at}]`, problem }])
    }
    if (size > most) most = size
  }
  return most
}
