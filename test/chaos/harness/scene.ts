import type { Scene } from './fault.ts'
import type { StoreName } from './options.ts'
import { postgresScene } from './postgres-scene.ts'
import { redisScene } from './redis-scene.ts'
import { sqliteScene } from './sqlite-scene.ts'

export const SCENES: Record<StoreName, (folder: string, seed: number) => Promise<Scene>> = {
  sqlite: sqliteScene,
  redis: redisScene,
  postgres: postgresScene,
}
