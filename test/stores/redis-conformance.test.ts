import { describe, test } from 'vitest'
import { register, runStoreCases, sessionStoreCases } from '../../src/conformance.ts'
import { clients, findRedis, redisRuns, redisSessions } from './redis.ts'

const found = await findRedis()

if ('missing' in found) {
  test.skipIf(true)(`redisStore: ${found.missing}`, () => undefined)
} else {
  describe.each(Object.entries(clients))('redisStore with %s', (_name, open) => {
    register(sessionStoreCases, redisSessions(found.url, open), test)
    register(runStoreCases, redisRuns(found.url, open), test)
  })
}
