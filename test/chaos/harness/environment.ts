import type { Environment } from './fault.ts'
import type { StoreName } from './options.ts'
import { postgresEnvironment } from './postgres-environment.ts'
import { redisEnvironment } from './redis-environment.ts'
import { sqliteEnvironment } from './sqlite-environment.ts'

export const ENVIRONMENTS: Record<StoreName, (folder: string, seed: number) => Promise<Environment>> = {
  sqlite: sqliteEnvironment,
  redis: redisEnvironment,
  postgres: postgresEnvironment,
}
