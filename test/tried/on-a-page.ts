// The program on a page.
import { tried } from './program.ts'

console.log((await tried()).join('\n'))
