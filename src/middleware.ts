export {
  cache,
  memoryCache,
  type CacheKey,
  type CacheOptions,
  type CacheStore,
  type MemoryCacheOptions,
} from './middleware/cache.ts'
export type { AdapterFacts } from './middleware/around.ts'
