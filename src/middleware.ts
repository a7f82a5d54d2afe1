/** The entry point `allm-ts/middleware`: adapters around adapters. */
export { stringifyCassette } from './middleware/cassette.ts'
export {
  parseCassette,
  type Cassette,
  type CassetteCall,
  type CassetteFormat,
} from './testing/cassette.ts'
