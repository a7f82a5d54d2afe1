import { test } from 'node:test'
import { adapterCases, register, replayCases, streamAdapterCases } from 'allm-ts/conformance'
import { parrot } from '../src/parrot.js'
import { harness } from './harness.js'
import { recordings } from './recordings.js'

register(streamAdapterCases, harness, test)
register(adapterCases, harness, test)
register(replayCases(recordings), { adapter: (fetch) => parrot({ fetch }) }, test)
