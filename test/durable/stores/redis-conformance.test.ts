import { describe, test } from 'vitest'
import { register, runStoreCases, sessionStoreCases } from '../../../src/conformance.ts'
import { clients, findRedis, redisRuns, redisSessions } from './redis.ts'

const found = await findRedis()

const why = 'missing' in found ? ` (skipped: ${found.missing})` : ''
const url = 'url' in found ? found.url : ''

describe.skipIf(why !== '').each(Object.entries(clients))(
  `redisStore with %s${why}`,
  (_name, open) => {
    register(sessionStoreCases, redisSessions(url, open), test)
    register(runStoreCases, redisRuns(url, open), test)
  },
)
