import type { Redis } from 'ioredis'
import { lua } from '#dist/store/redis/lua.generated.js'

const BY_SHA = new Map(Object.entries(lua).map(([name, { sha }]) => [sha, name]))
// MONITOR shows a line break as two characters.
const BY_SOURCE = new Map(
  Object.entries(lua).map(([name, { source }]) => [source.replaceAll('\\', '\\\\').replaceAll('\n', '\\n'), name]),
)

/** Returns the name of the script that a command runs; undefined if it runs none. */
export function scriptOf([name = '', what = '']: readonly string[]): string | undefined {
  if (!/^eval/i.test(name)) return undefined
  return BY_SHA.get(what as never) ?? BY_SOURCE.get(what)
}

/** Returns the commands that reach the server during `work`. */
export async function commandsDuring(redis: Redis, work: () => Promise<unknown>): Promise<string[][]> {
  const commands: string[][] = []
  const monitor = await redis.monitor()
  const database = String(redis.options.db)
  const ended = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, words: string[], source: string, db: string) => {
      if (db !== database || source === 'lua') return
      if (words[0]?.toLowerCase() === 'echo') resolve()
      else commands.push(words)
    })
  })
  await work()
  await redis.echo('the end')
  await ended
  monitor.disconnect()
  return commands
}
