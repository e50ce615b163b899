import { testNest } from './nest.ts'

testNest('12', 'frameworks')
