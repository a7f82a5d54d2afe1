// The program for a browser, which gets it as a bundle.
import { runAll } from './run-all.mjs'

await runAll()
