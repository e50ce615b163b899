import { describe, test } from 'vitest'
import { onPostgres } from '../postgres/suite.ts'
import { conformance } from './index.ts'
import { postgres } from './postgres.ts'

onPostgres('the store contract', () => conformance({ describe, test }, 'PostgreSQL', postgres, ({ isLong }) => isLong))
