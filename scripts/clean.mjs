// tsc -b never deletes an output whose source is gone, so a build starts from nothing.
import { rmSync } from 'node:fs'

rmSync(new URL('../dist/', import.meta.url), { recursive: true, force: true })
