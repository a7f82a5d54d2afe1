/** The entry point `allm-ts/testing`: scripted adapters, a clock without waiting, and a current engine for tests. */
export { collectEvents } from './testing/fakes/collect-events.ts'
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
} from './testing/fakes/script.ts'
export {
  fake,
  type Fake,
  type FakeOptions,
  type RecordedCall,
  type RecordedOptions,
} from './testing/fakes/fake.ts'
export { type ScriptStream as FakeStream } from './testing/fakes/play.ts'
export { type ScriptOptions } from './testing/fakes/script.ts'
export {
  fakeEmbeddings,
  type EmbeddingScriptEntry,
  type FakeEmbeddings,
  type FakeEmbeddingsOptions,
  type ScriptedEmbeddingFacts,
} from './testing/fakes/fake-embeddings.ts'
export {
  fakeRerank,
  type FakeRerank,
  type FakeRerankOptions,
  type RerankScriptEntry,
  type ScriptedRerankFacts,
} from './testing/fakes/fake-rerank.ts'
export {
  fakeImages,
  type FakeImages,
  type FakeImagesOptions,
  type ImageScriptEntry,
  type ScriptedImageFacts,
} from './testing/fakes/fake-images.ts'
export {
  fakeModeration,
  moderationResult,
  type FakeModeration,
  type FakeModerationOptions,
  type ModerationScriptEntry,
  type ScriptedModerationFacts,
} from './testing/fakes/fake-moderation.ts'
export {
  fakeSpeech,
  type FakeSpeech,
  type FakeSpeechOptions,
  type ScriptedSpeechFacts,
  type SpeechScriptEntry,
} from './testing/fakes/fake-speech.ts'
export {
  fakeTranscription,
  type FakeTranscription,
  type FakeTranscriptionOptions,
  type ScriptedTranscript,
  type ScriptedTranscriptionFacts,
  type TranscriptionScriptEntry,
} from './testing/fakes/fake-transcription.ts'
export { foldToResponse, type FoldOptions, interpret } from './testing/fakes/interpret.ts'
export {
  currentEngine,
  setEngine,
  unsetEngine,
  withEngine,
} from './engine/model-call/current-engine.ts'
export { validateScript } from './testing/fakes/check-script.ts'
export {
  virtualClock,
  type VirtualClock,
  type VirtualClockOptions,
} from './testing/fakes/virtual-clock.ts'
export {
  crashAtEveryEvent,
  type CrashReport,
  type CrashScenario,
  type SuspendAnswer,
} from './testing/fakes/rehearsal.ts'
export {
  trajectory,
  type Trajectory,
  type TrajectoryCall,
  type TrajectoryEntry,
  type TrajectorySource,
} from './testing/fakes/trajectory.ts'
export {
  expectTrajectory,
  TrajectoryError,
  type CallArguments,
  type ExpectedCallOptions,
  type Pattern,
  type TrajectoryExpectation,
  type TrajectoryOptions,
} from './testing/fakes/expect-trajectory.ts'
export {
  repeat,
  type RepeatedRun,
  type RepeatOptions,
  type RepeatOutcome,
  type RepeatReport,
} from './testing/fakes/repeat.ts'
export { recordedTools, toolsOf, type RecordedToolsOptions } from './testing/fakes/test-tools.ts'
