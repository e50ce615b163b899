/** The rights that a Redis user needs. docs/redis.md has the same list. */

import type { Connection } from './connection.ts'

/** Commands by the number of arguments with which Redis accepts them. An argument is a key, unless it is given here. */
const COMMANDS: Record<number, string> = {
  0: 'ping time',
  1: 'bitfield del exists get hgetall hkeys hlen hvals llen lpop mget rpop scan select smembers ttl type unlink zcard',
  2: 'blpop expire hdel hexists hget hmget hscan hstrlen incrby lindex lpos lpush pexpire publish rename rpush sadd set setnx sismember smismember srem wait zmscore zrank zrem zrevrank zscan zscore',
  3: 'getrange hincrby hset hsetnx lrange lrem lset ltrim setrange xrange xrevrange xtrim zadd zcount zincrby zrange zrangebylex zrangebyscore zremrangebyrank zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore',
  4: 'xadd',
  5: 'blmove',
}
const SPECIAL: Record<string, string[]> = {
  eval: ['return 1', '0'],
  evalsha: ['0', '0'],
  xread: ['STREAMS', '', '0'],
  'client|id': [],
  'client|unblock': ['0'],
}
/** These are not tried: they end or begin what `refusedCommands` does, or change what answers mean. */
const UNTRIED = ['exec', 'multi', 'subscribe', 'unsubscribe']

/** The commands that a user needs; with INFO, which is optional. */
export const NEEDED_COMMANDS: readonly string[] = [
  ...Object.values(COMMANDS).flatMap((names) => names.split(' ')),
  ...Object.keys(SPECIAL),
  ...UNTRIED,
  'info',
]

/**
 * Returns the commands that the user of this connection may not run on `key`, and whether keys are the reason. Redis checks
 * the rights when it queues a command of a transaction. This one never runs: close the connection afterwards.
 */
export async function refusedCommands(
  connection: Connection,
  key: string,
): Promise<{ commands: string[]; keys: boolean }> {
  const tried = [
    ...Object.entries(COMMANDS).flatMap(([n, names]) =>
      names.split(' ').map((name): [string, string[]] => [name, Array(Number(n)).fill(key)]),
    ),
    ...Object.entries(SPECIAL).map(([name, args]): [string, string[]] => [name, args.map((arg) => arg || key)]),
  ]
  const answers = await connection.callAll((client) => [
    client.call('MULTI'),
    ...tried.map(([name, args]) => client.call(...(name.split('|') as [string]), ...args)),
  ])
  const refused = answers.map(([error]) => (error?.message.startsWith('NOPERM') ? error.message : ''))
  if (refused[0]) return { commands: ['multi'], keys: false }
  // Channels are optional.
  const commands = tried.filter((_, i) => /command|keys?\b/.test(refused[i + 1] as string)).map(([name]) => name)
  return { commands, keys: refused.some((message) => /access.*\bkeys?\b/.test(message)) }
}
