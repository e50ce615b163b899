import { limitsSuite } from './limits-suite.ts'

limitsSuite(1000)
