// tsc -b never deletes an output whose source was removed, so a build starts with an empty folder.
import { rmSync } from 'node:fs'

rmSync(new URL('../dist/', import.meta.url), { recursive: true, force: true })
