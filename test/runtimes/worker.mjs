// The program for workerd, which gets it as a bundle. It requests the runs that it serves from itself.
import { runAll } from './run-all.mjs'
import { handle, servedCases } from './served-cases.mjs'

export default {
  fetch: handle,
  test: (_controller, { self }) =>
    runAll(servedCases((path) => self.fetch(`http://worker.test${path}`))),
}
