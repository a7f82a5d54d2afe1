/** The entry point `allm-ts/middleware`: adapters around adapters. */
export {
  cache,
  memoryCache,
  type CacheKey,
  type CacheOptions,
  type CacheStore,
  type MemoryCacheOptions,
} from './middleware/cache.ts'
export {
  circuitBreaker,
  type BreakerState,
  type CircuitBreaker,
  type CircuitBreakerOptions,
} from './middleware/circuit-breaker.ts'
export {
  fallback,
  type FallbackEntry,
  type FallbackOptions,
  type FallbackReason,
} from './middleware/fallback.ts'
export {
  guard,
  type GuardCheck,
  type GuardContext,
  type GuardedContent,
  type GuardJudge,
  type GuardOptions,
  type GuardVerdict,
  type InputGuard,
  type OutputGuard,
} from './middleware/guard.ts'
export { limit, type LimitOptions } from './middleware/limit.ts'
export type { AdapterFacts } from './middleware/around.ts'
export { redactCassette, stringifyCassette } from './testing/recording/write-cassette.ts'
export { cassetteToTest, type CassetteTestOptions } from './testing/recording/cassette-to-test.ts'
export {
  cassetteFile,
  record,
  type CassetteSink,
  type Recorder,
  type RecordOptions,
} from './testing/recording/record.ts'
export { type RedactionRules } from './testing/recording/redaction.ts'
export {
  replay,
  type Replay,
  type ReplayMatch,
  type ReplayOptions,
} from './testing/recording/replay.ts'
export {
  parseCassette,
  type Cassette,
  type CassetteCall,
  type CassetteFormat,
} from './testing/fakes/cassette.ts'
