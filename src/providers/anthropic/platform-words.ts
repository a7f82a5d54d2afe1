/** What the deprecated `platform` words load at the first call. Only `import()` reaches this file, so bundlers can keep it apart. */
export { toBedrock } from './bedrock-call.ts'
export { toVertex } from './vertex-call.ts'
