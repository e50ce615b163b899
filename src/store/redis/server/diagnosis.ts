/** Examines a Redis server. To add a check, add a function to `CHECKS`. */

import { finding } from '../../contract/finding-texts.ts'
import { type Check, type CheckResult, type Finding, runChecks } from '../../contract.ts'
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'
import { findLeftovers, type Leftover } from './leftovers.ts'
import { isOfVersion01 } from './migration.ts'
import { refusedCommands } from './rights.ts'
import type { Server } from './server.ts'

type Info = Map<string, string>

interface View {
  url: string
  keys: Keys
  prefix: string
  /** The fields of INFO; undefined when the user may not read them. */
  info: Info | undefined
  /** A connection that is closed afterwards. */
  connection: Connection
}

/** The maxmemory-policy with which a full server refuses writes instead of deleting keys. */
const SAFE_POLICY = 'noeviction'
const FULL = 0.95
const ALMOST_FULL = 0.8
const CLOCK_SECONDS = 1

export function infoOf(text: string): Info {
  return new Map([...text.matchAll(/^(\w+):([^\r\n]*)/gm)].map(([, name = '', value = '']) => [name, value]))
}

export function eviction(info: Info, url: string): CheckResult {
  const policy = info.get('maxmemory_policy') ?? SAFE_POLICY
  if (policy === SAFE_POLICY) return finding('ok', 'redis-keeps-keys', { policy })
  const command = `CONFIG SET maxmemory-policy ${SAFE_POLICY}`
  return finding('error', 'redis-evicts-keys', { url, policy, command })
}

/** Returns a setting of the server; undefined when the user may not read it. */
async function configOf(connection: Connection, name: string): Promise<string | undefined> {
  const answer = await connection.call((client) => client.config('GET', name)).catch(() => undefined)
  return Array.isArray(answer) ? answer[1] : undefined
}

/** Describes which writes the append-only file keeps with this `appendfsync`. */
function appendOnly(policy: string | undefined): CheckResult {
  if (policy === undefined) return finding('ok', 'redis-append-only')
  if (policy === 'always') return finding('ok', 'redis-append-only-always')
  if (policy === 'everysec') return finding('ok', 'redis-append-only-everysec')
  return finding('warning', 'redis-append-only-seldom', { policy })
}

const CHECKS: Record<string, Check<View>> = {
  server({ info, url }) {
    const version = info?.get('valkey_version') ?? info?.get('redis_version')
    if (!info || version === undefined) return finding('warning', 'redis-info-refused', { url })
    const program = info.has('valkey_version') ? 'Valkey' : 'Redis'
    return finding('ok', 'redis-version', { program, version })
  },

  async schema({ connection, keys, prefix, url }) {
    // Opening the store says why the keys can't be read.
    if (!(await isOfVersion01(connection, keys, prefix).catch(() => false))) return undefined
    return finding('warning', 'redis-of-0.1', { url })
  },

  eviction: ({ info, url }) => info && eviction(info, url),

  memory({ info }) {
    if (!info) return undefined
    const [bytes, maxBytes] = [Number(info.get('used_memory')), Number(info.get('maxmemory') ?? 0)]
    if (maxBytes === 0) return finding('ok', 'redis-memory-unlimited', { bytes })
    const severity = bytes < maxBytes * ALMOST_FULL ? 'ok' : bytes < maxBytes * FULL ? 'warning' : 'error'
    return finding(severity, 'redis-memory', { bytes, maxBytes })
  },

  async persistence({ info, connection }) {
    if (!info) return undefined
    if (info.get('aof_enabled') === '1') {
      if (info.get('aof_last_write_status') === 'ok') return appendOnly(await configOf(connection, 'appendfsync'))
      return finding('error', 'redis-append-only-failed')
    }
    if (info.get('rdb_last_bgsave_status') !== 'ok') return finding('error', 'redis-snapshot-failed')
    if ((await configOf(connection, 'save')) === '') return finding('warning', 'redis-not-on-disk')
    return finding('warning', 'redis-only-snapshots')
  },

  replication({ info }) {
    if (!info) return undefined
    const role = info.get('role')
    if (role === 'master') return finding('ok', 'redis-master', { n: Number(info.get('connected_slaves')) })
    return finding('error', 'redis-replica', { master: `${info.get('master_host')}:${info.get('master_port')}` })
  },

  async clock({ connection }) {
    const before = Date.now()
    const [seconds, micros] = await connection.call((client) => client.time())
    const here = (before + Date.now()) / 2
    const apart = Math.abs(Number(seconds) + Number(micros) / 1e6 - here / 1000)
    if (apart < CLOCK_SECONDS) return finding('ok', 'redis-clock-agrees')
    return finding('warning', 'redis-clock-differs', { seconds: apart })
  },

  async leftovers({ connection, prefix }) {
    const found = await findLeftovers(connection, prefix)
    if (found.length === 0) return finding('ok', 'leftovers-none')
    return [...new Set(found.map(({ program }) => program))].map((program) => {
      const keys = found.filter((one) => one.program === program)
      const [{ key, adopt }] = keys as [Leftover]
      const left = { program, n: keys.length, key }
      if (adopt === undefined) return finding('warning', 'leftovers', left)
      return finding('warning', 'leftovers-to-adopt', { ...left, command: `highkiq adopt ${adopt}` })
    })
  },
}

/** Leaves its connection in a transaction, so it runs last. */
async function rights({ info, connection, prefix }: View): Promise<CheckResult | undefined> {
  // A replica refuses the commands before it checks their rights.
  if (info && info.get('role') !== 'master') return undefined
  const { commands, keys } = await refusedCommands(connection, `${prefix}hk:doctor`)
  if (commands.length === 0) return finding('ok', 'redis-rights-ok')
  const allow = (rights: string) => `ACL SETUSER NAME ${rights}`
  if (keys) {
    const right = `~${prefix}*`
    return finding('error', 'redis-keys-refused', { key: `${prefix}hk:leases`, right, command: allow(right) })
  }
  return finding('error', 'redis-commands-refused', {
    commands: commands.map((name) => name.replace('|', ' ').toUpperCase()).join(', '),
    command: allow(commands.map((name) => `+${name}`).join(' ')),
  })
}

/** Runs all checks on a connection of their own. @throws STORE_UNREACHABLE, STORE_UNUSABLE */
export async function diagnose(server: Server): Promise<Finding[]> {
  const connection = server.connect()
  try {
    await connection.ready()
    const text = await connection.call((client) => client.info()).catch(() => undefined)
    const view: View = {
      url: server.options.url,
      keys: server.keys,
      prefix: server.keys.prefix,
      info: text === undefined ? undefined : infoOf(text),
      connection,
    }
    const failed = (error: string) => finding('warning', 'redis-check-failed', { error })
    const findings = await runChecks(CHECKS, view, failed)
    return [...findings, ...(await runChecks({ rights }, view, failed))]
  } finally {
    server.disconnect(connection)
  }
}
