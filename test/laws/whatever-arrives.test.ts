import { expect, test } from 'vitest'
import { hostileAnswer, hostileFormats, problemWith } from '../support/hostile-answers.ts'

/** Law 12: whatever arrives can be saved, read, sent and resumed. */
const perFormat = 500

test.each(hostileFormats)(
  'for any changed answer on %s the session can be saved after every event',
  async (format) => {
    const found: string[] = []
    for (let seed = 1; seed <= perFormat && found.length < 20; seed++) {
      const answer = hostileAnswer(format, seed)
      const problem = await problemWith(answer)
      if (problem !== undefined)
        found.push(`seed ${seed} (${answer.changes.join(', ')}): ${problem}`)
    }
    expect(found).toEqual([])
  },
)
