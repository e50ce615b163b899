/** Examines a Redis server. To add a check, add a function to `CHECKS`. */

import { megabytes, plural } from '../../../job/plural.ts'
import { type Check, type CheckResult, type Finding, runChecks } from '../../contract.ts'
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'
import { findLeftovers } from './leftovers.ts'
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
  if (policy === SAFE_POLICY) return { severity: 'ok', text: `the maxmemory-policy is ${SAFE_POLICY}` }
  return {
    severity: 'error',
    text: `${url} has the maxmemory-policy ${policy}: once its memory is used up it evicts jobs instead of refusing pushes`,
    advice: `Set it with CONFIG SET maxmemory-policy ${SAFE_POLICY}, and in redis.conf`,
  }
}

/** Returns a setting of the server; undefined when the user may not read it. */
async function configOf(connection: Connection, name: string): Promise<string | undefined> {
  const answer = await connection.call((client) => client.config('GET', name)).catch(() => undefined)
  return Array.isArray(answer) ? answer[1] : undefined
}

/** Describes which writes the append-only file keeps with this `appendfsync`. */
function appendOnly(policy: string | undefined): CheckResult {
  const text = 'the append-only file is on'
  if (policy === undefined) return { severity: 'ok', text }
  if (policy === 'always') return { severity: 'ok', text: `${text}, and has each write before it is answered` }
  if (policy === 'everysec') return { severity: 'ok', text: `${text}; a crash of Redis loses up to a second of writes` }
  return {
    severity: 'warning',
    text: `appendfsync is ${policy}, so a crash of the machine loses what it had not written to the disk, often half a minute`,
    advice: 'Set appendfsync everysec, or always, in redis.conf and with CONFIG SET appendfsync',
  }
}

const CHECKS: Record<string, Check<View>> = {
  server({ info, url }) {
    const version = info?.get('valkey_version') ?? info?.get('redis_version')
    if (!info || version === undefined) {
      return {
        severity: 'warning',
        text: `the user may not run INFO on ${url}, so its version, memory and persistence were not checked`,
        advice: 'Give the user the right +info',
      }
    }
    const name = info.has('valkey_version') ? 'Valkey' : 'Redis'
    return { severity: 'ok', text: `${name} ${version}` }
  },

  async schema({ connection, keys, prefix, url }) {
    // Opening the store says why the keys can't be read.
    if (!(await isOfVersion01(connection, keys, prefix).catch(() => false))) return undefined
    return {
      severity: 'warning',
      text: `${url} has keys of Highkiq 0.1, so its jobs were not examined`,
      advice: 'Stop the processes of version 0.1, and keep a snapshot: the next worker or command migrates the keys',
    }
  },

  eviction: ({ info, url }) => info && eviction(info, url),

  memory({ info }) {
    if (!info) return undefined
    const [used, most] = [Number(info.get('used_memory')), Number(info.get('maxmemory') ?? 0)]
    if (most === 0) return { severity: 'ok', text: `${megabytes(used)} used; there is no maxmemory` }
    const text = `${megabytes(used)} of ${megabytes(most)} (maxmemory) are used`
    if (used < most * ALMOST_FULL) return { severity: 'ok', text }
    const advice = 'Raise maxmemory, or run the waiting jobs: a full server refuses pushes'
    return { severity: used < most * FULL ? 'warning' : 'error', text, advice }
  },

  async persistence({ info, connection }) {
    if (!info) return undefined
    if (info.get('aof_enabled') === '1') {
      if (info.get('aof_last_write_status') === 'ok') return appendOnly(await configOf(connection, 'appendfsync'))
      const text = 'Redis could not write its append-only file, and refuses writes'
      return { severity: 'error', text, advice: 'Look into the log of Redis; often its disk is full' }
    }
    if (info.get('rdb_last_bgsave_status') !== 'ok') {
      const text = 'the last snapshot failed, so Redis refuses writes unless stop-writes-on-bgsave-error is no'
      return { severity: 'error', text, advice: 'Look into the log of Redis; often its disk or its memory is full' }
    }
    const lost =
      (await configOf(connection, 'save')) === ''
        ? 'nothing is kept on disk: a restart of Redis loses all jobs'
        : 'the append-only file is off: a crash of Redis loses the jobs since its last snapshot'
    const advice = 'Set appendonly yes in redis.conf, and run CONFIG SET appendonly yes'
    return { severity: 'warning', text: lost, advice }
  },

  replication({ info }) {
    if (!info) return undefined
    const role = info.get('role')
    if (role === 'master') {
      return { severity: 'ok', text: `a master with ${plural(Number(info.get('connected_slaves')), 'replica')}` }
    }
    const text = 'the server is a replica, which takes no writes'
    const advice = `Use the URL of its master, ${info.get('master_host')}:${info.get('master_port')}, or name the Sentinels`
    return { severity: 'error', text, advice }
  },

  async clock({ connection }) {
    const before = Date.now()
    const [seconds, micros] = await connection.call((client) => client.time())
    const here = (before + Date.now()) / 2
    const apart = Math.abs(Number(seconds) + Number(micros) / 1e6 - here / 1000)
    if (apart < CLOCK_SECONDS) return { severity: 'ok', text: 'the clocks of the server and of this machine agree' }
    return {
      severity: 'warning',
      text: `the clocks of the server and of this machine differ by ${apart.toFixed(1)} s: scheduled jobs start too early or too late`,
      advice: 'Synchronise both with NTP',
    }
  },

  async leftovers({ connection, prefix }) {
    const found = await findLeftovers(connection, prefix)
    const [first, ...more] = found
    if (!first) return { severity: 'ok', text: 'other programs have left no jobs' }
    const others = more.length === 0 ? '' : ` and ${plural(more.length, 'more key')}`
    return {
      severity: 'warning',
      text: `${first.program} has jobs in ${first.key}${others}, which Highkiq does not read`,
      advice: `If ${first.program} does not run any more, ${first.adopt ? `move them: highkiq adopt ${first.adopt}` : 'push these jobs again and delete the keys'}`,
    }
  },
}

/** Leaves its connection in a transaction, so it runs last. */
async function rights({ info, connection, prefix }: View): Promise<CheckResult | undefined> {
  // A replica refuses the commands before it checks their rights.
  if (info && info.get('role') !== 'master') return undefined
  const { commands, keys } = await refusedCommands(connection, `${prefix}hk:doctor`)
  if (commands.length === 0) return { severity: 'ok', text: 'the user may run every command that Highkiq needs' }
  if (keys) {
    const pattern = `~${prefix}*`
    const text = `the user may not access keys such as ${prefix}hk:leases`
    return { severity: 'error', text, advice: `Give the user the right ${pattern}: ACL SETUSER NAME ${pattern}` }
  }
  const missing = commands.map((name) => `+${name}`).join(' ')
  return {
    severity: 'error',
    text: `the user may not run ${commands.map((name) => name.replace('|', ' ').toUpperCase()).join(', ')}`,
    advice: `Give the user these rights: ACL SETUSER NAME ${missing}`,
  }
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
    const failed = { severity: 'warning', advice: 'See what the check of the rights says' } as const
    const findings = await runChecks(CHECKS, view, failed)
    return [...findings, ...(await runChecks({ rights }, view, failed))]
  } finally {
    server.disconnect(connection)
  }
}
