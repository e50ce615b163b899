import type { RedisServer } from '../redis/server.ts'

/** Why a shard can't be reached: its name, how it begins and how it ends. */
export const TROUBLES = [
  ['down', (server: RedisServer) => server.kill(), (server: RedisServer) => server.start()],
  ['frozen', async (server: RedisServer) => server.freeze(), async (server: RedisServer) => server.thaw()],
] as const
