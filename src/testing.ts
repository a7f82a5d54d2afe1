/** The door `allm-ts/testing`: scripted adapters, a clock without waiting, and a current engine for tests. */
export { collectEvents } from './testing/collect-events.ts'
export { detectShape } from './testing/detect-shape.ts'
export { fake } from './testing/fake.ts'
export type { Fake } from './testing/fake-adapter.ts'
export type { FakeOptions, ScriptOptions } from './testing/fake-options.ts'
export { fakeImages } from './testing/fake-images.ts'
export type { FakeImages, FakeImagesOptions } from './testing/fake-images-options.ts'
export { foldToResponse, type FoldOptions } from './testing/fold-to-response.ts'
export { interpret } from './testing/interpret.ts'
export { currentEngine, withEngine } from './testing/sandbox.ts'
export { createScriptCursor, type ScriptCursor } from './testing/script-cursor.ts'
export { validateScript } from './testing/validate-script.ts'
export {
  virtualClock,
  type VirtualClock,
  type VirtualClockOptions,
} from './testing/virtual-clock.ts'
export type { RecordedCall, RecordedOptions } from './testing/call-log.ts'
export type { ImageScriptEntry, ScriptedImageFacts } from './testing/image-script-entry.ts'
export type { FakeStream } from './testing/play-call.ts'
export type {
  HarnessEntry,
  Script,
  ScriptEntry,
  ScriptedErrorDetails,
  ScriptedToolCall,
  ScriptedToolCallDelta,
  SpecEntry,
} from './testing/script-entry.ts'
export type { ScriptShape } from './testing/vocabulary.ts'
export { crashAtEveryEvent } from './rehearsal/crash-at-every-event.ts'
export type { CrashReport, CrashScenario, SuspendAnswer } from './rehearsal/crash-scenario.ts'
