/** The door `allm-ts/conformance`: what adapters, executors, encoders and stores have to do, as cases for any test runner. */
export { adapterCases } from './conformance/adapter-cases.ts'
export { streamAdapterCases } from './conformance/stream-adapter-cases.ts'
export { register, type RegisterOptions, type TestFunction } from './conformance/register.ts'
export { runCases } from './conformance/run-cases.ts'
