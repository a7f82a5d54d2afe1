/** The entry point `allm-ts/testing`: scripted adapters, a clock without waiting, and a current engine for tests. */
export { collectEvents } from './testing/collect-events.ts'
export {
  detectShape,
  createScriptCursor,
  type ScriptCursor,
  type HarnessEntry,
  type Script,
  type ScriptFunction,
  type ScriptInput,
  type ScriptEntry,
  type ScriptedErrorDetails,
  type ScriptedToolCall,
  type ScriptedToolCallDelta,
  type SpecEntry,
  type ScriptShape,
} from './testing/script.ts'
export {
  fake,
  type Fake,
  type FakeOptions,
  type RecordedCall,
  type RecordedOptions,
} from './testing/fake.ts'
export { type ScriptStream as FakeStream } from './testing/play.ts'
export { type ScriptOptions } from './testing/script.ts'
export {
  fakeEmbeddings,
  type EmbeddingScriptEntry,
  type FakeEmbeddings,
  type FakeEmbeddingsOptions,
  type ScriptedEmbeddingFacts,
} from './testing/fake-embeddings.ts'
export {
  fakeRerank,
  type FakeRerank,
  type FakeRerankOptions,
  type RerankScriptEntry,
  type ScriptedRerankFacts,
} from './testing/fake-rerank.ts'
export {
  fakeImages,
  type FakeImages,
  type FakeImagesOptions,
  type ImageScriptEntry,
  type ScriptedImageFacts,
} from './testing/fake-images.ts'
export {
  fakeModeration,
  moderationResult,
  type FakeModeration,
  type FakeModerationOptions,
  type ModerationScriptEntry,
  type ScriptedModerationFacts,
} from './testing/fake-moderation.ts'
export {
  fakeSpeech,
  type FakeSpeech,
  type FakeSpeechOptions,
  type ScriptedSpeechFacts,
  type SpeechScriptEntry,
} from './testing/fake-speech.ts'
export {
  fakeTranscription,
  type FakeTranscription,
  type FakeTranscriptionOptions,
  type ScriptedTranscript,
  type ScriptedTranscriptionFacts,
  type TranscriptionScriptEntry,
} from './testing/fake-transcription.ts'
export { foldToResponse, type FoldOptions, interpret } from './testing/interpret.ts'
export { currentEngine, setEngine, unsetEngine, withEngine } from './run/current-engine.ts'
export { validateScript } from './testing/check-script.ts'
export {
  virtualClock,
  type VirtualClock,
  type VirtualClockOptions,
} from './testing/virtual-clock.ts'
export {
  crashAtEveryEvent,
  type CrashReport,
  type CrashScenario,
  type SuspendAnswer,
} from './testing/rehearsal.ts'
export {
  trajectory,
  type Trajectory,
  type TrajectoryCall,
  type TrajectoryEntry,
  type TrajectorySource,
} from './testing/trajectory.ts'
export {
  expectTrajectory,
  TrajectoryError,
  type CallArguments,
  type ExpectedCallOptions,
  type Pattern,
  type TrajectoryExpectation,
  type TrajectoryOptions,
} from './testing/expect-trajectory.ts'
export {
  repeat,
  type RepeatedRun,
  type RepeatOptions,
  type RepeatOutcome,
  type RepeatReport,
} from './testing/repeat.ts'
export { recordedTools, toolsOf, type RecordedToolsOptions } from './testing/test-tools.ts'
