import { testNest } from './nest.ts'

testNest('11', 'nestjs-11')
