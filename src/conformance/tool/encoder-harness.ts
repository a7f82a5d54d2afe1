import type { EncoderCapability } from '../capabilities.ts'
import type { ConformanceCase, Declares } from '../conformance-case.ts'
import type { ToolResultEncoder } from '../../contracts/tool.ts'

/** An encoder to be tested. */
export interface EncoderHarness extends Declares<EncoderCapability> {
  readonly encoder: ToolResultEncoder
}

/** A case for tool result encoders. */
export type EncoderCase = ConformanceCase<EncoderHarness, EncoderCapability>
