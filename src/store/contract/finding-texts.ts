/**
 * The English sentences of the findings of `highkiq doctor`, by their codes. The advice of a code is at `CODE.advice`. The
 * dashboard has the sentences of the other languages, in `i18n/LANGUAGE/findings.ts`.
 */

import { count, duration, megabytes } from '../../job/plural.ts'
import type { CheckResult, Severity } from './findings.ts'

const CLOSER = 'Move the workers closer to the store, or find what keeps it busy: each step of a worker waits for it'

/** `n` selects the plural form. Values `…seconds` are shown as durations, values `…bytes` as sizes. */
export const FINDING_TEXTS = {
  more: '{n} more like these',
  'more.advice': 'Follow the advice above',

  'store-unusable': '{error}',
  'store-unusable.advice': 'Fix this first: the other checks need the store',
  'store-writable': '{url} takes writes, in {ms} ms',
  'store-writable.advice': CLOSER,
  'store-answers': '{url} answers, in {ms} ms',
  'store-answers.advice': CLOSER,
  'store-read-only': '{url} answers, in {ms} ms; no write was tried, because this server is read-only',
  'store-read-only.advice': CLOSER,
  'check-failed': 'this could not be checked: {error}',
  'check-failed.advice': 'See what the checks of the store say',

  'worker-silent': 'worker {identity} is silent: its last heartbeat was {seconds} ago',
  'worker-silent.advice': 'If its process has died, start another. If it runs, a handler may block its event loop',
  'workers-none': 'none is running',
  'workers-running': '{n} running',
  'worker-versions-differ': {
    one: '{n} worker runs Highkiq {versions}, and this is {version}',
    other: '{n} workers run Highkiq {versions}, and this is {version}',
  },
  'worker-versions-differ.advice': 'After a deploy, restart the workers that are left',
  'worker-versions-agree': 'Highkiq {version} here and in its workers',
  'worker-clock-ahead': "the clock of {host} ({identity}) is {seconds} ahead of this machine's",
  'worker-clock-ahead.advice': 'Synchronise both with NTP: scheduled jobs start too early or too late',
  'worker-clocks-agree': 'no clock of a worker is ahead of this machine',

  'queue-waits-unserved': {
    one: 'no worker serves the queue {queue}, where {n} job waits',
    other: 'no worker serves the queue {queue}, where {n} jobs wait',
  },
  'queue-waits-unserved.advice': 'Start one: {command}',
  'queue-unserved': 'no worker serves the queue {queue}, which jobs of a running app use',
  'queue-unserved.advice': 'Start one: {command}',
  'queues-served': 'every queue with waiting jobs has a worker',
  'queue-paused': {
    one: 'the queue {queue} is paused, and {n} job waits',
    other: 'the queue {queue} is paused, and {n} jobs wait',
  },
  'queue-paused.advice': 'To resume it: {command}',
  'queues-not-paused': 'no paused queue has jobs',
  'queue-grows': {
    one: 'the queue {queue} grows by {n} job a minute, and its next job has waited {seconds}',
    other: 'the queue {queue} grows by {n} jobs a minute, and its next job has waited {seconds}',
  },
  'queue-grows.advice': 'Start more workers for it, or raise their concurrency',
  'queues-not-late': 'no job of a queue has waited for {seconds}',
  'queues-not-growing': 'no queue grows',

  'scheduled-late': {
    one: '{n}{more} scheduled job has been due for {seconds}, and is still not in its queue',
    other: '{n}{more} scheduled jobs are due, the first for {seconds}, and still not in their queues',
  },
  'scheduled-late.advice':
    'A running worker moves them within seconds. If this stays, look into the logs of the workers',
  'scheduled-without-worker': {
    one: '{n}{more} scheduled job has been due for {seconds}, and is still not in its queue: no worker is running',
    other:
      '{n}{more} scheduled jobs are due, the first for {seconds}, and still not in their queues: no worker is running',
  },
  'scheduled-without-worker.advice': 'Start a worker, which moves them: {command}',
  'retries-late': {
    one: '{n}{more} retry has been due for {seconds}, and is still not in its queue',
    other: '{n}{more} retries are due, the first for {seconds}, and still not in their queues',
  },
  'retries-late.advice': 'A running worker moves them within seconds. If this stays, look into the logs of the workers',
  'retries-without-worker': {
    one: '{n}{more} retry has been due for {seconds}, and is still not in its queue: no worker is running',
    other: '{n}{more} retries are due, the first for {seconds}, and still not in their queues: no worker is running',
  },
  'retries-without-worker.advice': 'Start a worker, which moves them: {command}',
  'due-none': 'no scheduled job or retry is late by {seconds}',

  orphaned: {
    one: '{n} job belongs to {workers} worker that died',
    other: '{n} jobs belong to workers that died (workers: {workers})',
  },
  'orphaned.advice': 'The running workers put them back within seconds. If this stays, look into their logs',
  'orphaned-without-worker': {
    one: '{n} job belongs to {workers} worker that died, and no worker is running',
    other: '{n} jobs belong to workers that died (workers: {workers}), and no worker is running',
  },
  'orphaned-without-worker.advice': 'Start a worker, which puts them back: {command}',
  'orphaned-none': 'no job belongs to a worker that died',

  'task-still': 'task {id} ({name}) has made no progress for {seconds}',
  'task-still.advice': 'See it with {command}, and whether a worker serves its queue {queue}',
  'task-paused': 'task {id} ({name}) is paused: {reason}',
  'task-paused.advice': '{command} says how to resume it',
  'task-paused-by-failures': 'task {id} ({name}) is paused: too many rows were rejected: {rejected} of {ended} so far',
  'task-paused-by-failures.advice': '{command} says how to resume it',
  'tasks-ok': '{n} running, none without progress',
  'shard-unserved':
    'no worker runs shard {shard} of the ordered queue {queue}, whose next id has been due for {seconds}',
  'shard-unserved.advice': 'Start a worker whose app defines it: {command}',
  'shards-served': 'no ordered queue with due ids waits for a worker',

  'batch-stuck': 'batch {bid} has made no progress for {seconds}, and its job {jid} is in no queue and no job set',
  'batch-stuck.advice': 'A running worker ends such jobs within minutes; see {command}',
  'batches-ok': '{n} without progress for an hour, none seems stuck',
  'batches-searched':
    '{n} without progress for an hour, none of the {searched} whose jobs were searched for seems stuck',
  'lock-lost':
    'job {jid} has the lock {key}, but is in no queue and no job set: pushes of the same unique job are refused',
  'lock-lost.advice': 'A running worker releases it within minutes; to do it now: {command}',
  'hidden-lock-lost':
    'job {jid} has the lock {key}, but is in no queue and no job set: pushes of the same unique job are refused',
  'hidden-lock-lost.advice': 'A running worker releases it within minutes',
  'locks-ok': '{n}{more} held, none seems lost',
  'locks-searched': '{n}{more} held, none of the {searched} whose jobs were searched for seems lost',

  'jobs-held-by-move': {
    one: 'highkiq move holds {n} job for another store; it runs when the move continues',
    other: 'highkiq move holds {n} jobs for another store; they run when the move continues',
  },
  'jobs-held-by-move.advice': 'If it no longer runs: {command} (add --undo to move them back)',
  'tasks-held-by-move': {
    one: 'highkiq move holds {n} task for another store; it runs when the move continues',
    other: 'highkiq move holds {n} tasks for another store; they run when the move continues',
  },
  'tasks-held-by-move.advice': 'If it no longer runs: {command} (add --undo to move them back)',

  'sqlite-file-read-only': '{path} or its folder is read-only for this user, or missing',
  'sqlite-file-read-only.advice': 'Give this user the right to write to both, and see how the disk is mounted',
  'sqlite-file-new': '{path} will be created',
  'sqlite-file-ok': '{path}, {bytes}',
  'sqlite-of-0.1':
    '{path} was written by Highkiq 0.1 (schema {version}, this version needs {needed}), so its jobs were not examined',
  'sqlite-of-0.1.advice':
    'Stop the processes of the older version, and copy the file: the next worker or command migrates it',
  'sqlite-of-older':
    '{path} was written by an older Highkiq (schema {version}, this version needs {needed}), so its jobs were not examined',
  'sqlite-of-older.advice':
    'Stop the processes of the older version, and copy the file: the next worker or command migrates it',
  'sqlite-open-twice':
    "{path} is open in this process with two SQLite libraries. They do not see each other's locks and will destroy the file",
  'sqlite-open-twice.advice': 'Open it with one SQLite library in this process, or give Highkiq a file of its own',
  'sqlite-libraries': 'this process has loaded other SQLite libraries beside that of the store: {libraries}',
  'sqlite-libraries.advice':
    'Make sure that none of them opens {path} in a process that has it open: two libraries in one process destroy a file',
  'sqlite-on-network': "the file is on a network file system ({system}), where SQLite's locks do not work",
  'sqlite-on-network.advice': 'Move it to a local disk, or use Redis',
  'disk-free': '{bytes} of the disk are free',
  'disk-free.advice': "Free some space: on a full disk pushes are refused, and running jobs can't be settled",
  'sqlite-log-ok': 'the log has {bytes}',
  'sqlite-log-large':
    'the log has {bytes}: a program that reads the file in one long transaction keeps it from being emptied',
  'sqlite-log-large.advice': 'Find the program, for instance with "fuser {path}", and let it end its transaction',
  'sqlite-check-failed': 'this could not be checked: {error}',
  'sqlite-check-failed.advice': 'See what the checks of the store say',

  'redis-version': '{program} {version}',
  'redis-info-refused': 'the user may not run INFO on {url}, so its version, memory and persistence were not checked',
  'redis-info-refused.advice': 'Give the user the right +info',
  'redis-of-0.1': '{url} has keys of Highkiq 0.1, so its jobs were not examined',
  'redis-of-0.1.advice':
    'Stop the processes of version 0.1, and keep a snapshot: the next worker or command migrates the keys',
  'redis-keeps-keys': 'the maxmemory-policy is {policy}',
  'redis-evicts-keys':
    '{url} has the maxmemory-policy {policy}: once its memory is used up it evicts jobs instead of refusing pushes',
  'redis-evicts-keys.advice': 'Set it with {command}, and in redis.conf',
  'redis-memory-unlimited': '{bytes} used; there is no maxmemory',
  'redis-memory': '{bytes} of {maxBytes} (maxmemory) are used',
  'redis-memory.advice': 'Raise maxmemory, or run the waiting jobs: a full server refuses pushes',
  'redis-append-only': 'the append-only file is on',
  'redis-append-only-always': 'the append-only file is on, and has each write before it is answered',
  'redis-append-only-everysec': 'the append-only file is on; a crash of Redis loses up to a second of writes',
  'redis-append-only-seldom':
    'appendfsync is {policy}, so a crash of the machine loses what it had not written to the disk, often half a minute',
  'redis-append-only-seldom.advice':
    'Set appendfsync everysec, or always, in redis.conf and with CONFIG SET appendfsync',
  'redis-append-only-failed': 'Redis could not write its append-only file, and refuses writes',
  'redis-append-only-failed.advice': 'Look into the log of Redis; often its disk is full',
  'redis-snapshot-failed': 'the last snapshot failed, so Redis refuses writes unless stop-writes-on-bgsave-error is no',
  'redis-snapshot-failed.advice': 'Look into the log of Redis; often its disk or its memory is full',
  'redis-not-on-disk': 'nothing is kept on disk: a restart of Redis loses all jobs',
  'redis-not-on-disk.advice': 'Set appendonly yes in redis.conf, and run CONFIG SET appendonly yes',
  'redis-only-snapshots': 'the append-only file is off: a crash of Redis loses the jobs since its last snapshot',
  'redis-only-snapshots.advice': 'Set appendonly yes in redis.conf, and run CONFIG SET appendonly yes',
  'redis-master': { one: 'a master with {n} replica', other: 'a master with {n} replicas' },
  'redis-replica': 'the server is a replica, which takes no writes',
  'redis-replica.advice': 'Use the URL of its master, {master}, or name the Sentinels',
  'redis-clock-agrees': 'the clocks of the server and of this machine agree',
  'redis-clock-differs':
    'the clocks of the server and of this machine differ by {seconds}: scheduled jobs start too early or too late',
  'redis-clock-differs.advice': 'Synchronise both with NTP',
  'leftovers-none': 'other programs have left no jobs',
  'leftovers-to-adopt': {
    one: '{program} has jobs in {key}, which Highkiq does not read',
    other: '{program} has jobs in {n} keys, such as {key}, which Highkiq does not read',
  },
  'leftovers-to-adopt.advice': 'If {program} does not run any more, move them: {command}',
  leftovers: {
    one: '{program} has jobs in {key}, which Highkiq does not read',
    other: '{program} has jobs in {n} keys, such as {key}, which Highkiq does not read',
  },
  'leftovers.advice': 'If {program} does not run any more, push these jobs again and delete the keys',
  'redis-rights-ok': 'the user may run every command that Highkiq needs',
  'redis-keys-refused': 'the user may not access keys such as {key}',
  'redis-keys-refused.advice': 'Give the user the right {right}: {command}',
  'redis-commands-refused': 'the user may not run {commands}',
  'redis-commands-refused.advice': 'Give the user these rights: {command}',
  'redis-check-failed': 'this could not be checked: {error}',
  'redis-check-failed.advice': 'See what the check of the rights says',

  'postgres-version': 'PostgreSQL {version}',
  'postgres-too-old': 'PostgreSQL {version} is too old',
  'postgres-too-old.advice': 'Update it to {oldest} or newer',
  'postgres-schema-new': 'the schema {schema} will be created',
  'postgres-of-older':
    'the schema {schema} was written by an older Highkiq (version {version}, this one needs {needed}), so its jobs were not examined',
  'postgres-of-older.advice': 'Stop the processes of the older version: the next worker or command migrates it',
  'postgres-standby': 'the server is a standby, which only reads',
  'postgres-standby.advice': 'Name the primary in the URL',
  'postgres-fsync-off': 'fsync is off, so a crash of the machine may damage the whole database',
  'postgres-fsync-off.advice': 'Set fsync = on in postgresql.conf, and restart the server',
  'postgres-commits-late':
    'synchronous_commit is off, so a crash of the server loses the last moments of acknowledged pushes',
  'postgres-commits-late.advice':
    "Set synchronous_commit = on for this user: ALTER USER … SET synchronous_commit = 'on'",
  'postgres-commits-ok': 'each commit is on the disk before it is answered',
  'postgres-connections': '{used} of {most} connections are in use',
  'postgres-connections.advice': 'Raise max_connections, lower connections=N in the URL, or put PgBouncer in front',
  'postgres-transaction-open':
    "the process {pid} (application_name '{name}') has had a transaction open for {seconds}, so rows of ended jobs can't be removed, and queues get slower",
  'postgres-transaction-open.advice': 'End that transaction; idle_in_transaction_session_timeout does so by itself',
  'postgres-dead-rows': {
    one: 'the table {table} has {n} dead row, so vacuum does not keep up',
    other: 'the table {table} has {n} dead rows, so vacuum does not keep up',
  },
  'postgres-dead-rows.advice':
    'Run VACUUM {schema}.{table}, and see that autovacuum is on and no transaction stays open',
  'postgres-check-failed': 'this could not be checked: {error}',
  'postgres-check-failed.advice': 'Give the user the right to read it, or connect as another user',
} as const satisfies Record<string, Text>

type Text = string | { one: string; other: string }
type Texts = typeof FINDING_TEXTS
type FindingCode = Exclude<keyof Texts, `${string}.advice`>
type Values = Record<string, string | number>

/** The names in braces. */
type NamesIn<T> = T extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never
type FormsOf<T> = T extends string ? T : T[keyof T]
type AdviceOf<Code extends FindingCode> = Texts[`${Code}.advice` & keyof Texts]
type ParamsOf<Code extends FindingCode> = Record<NamesIn<FormsOf<Texts[Code] | AdviceOf<Code>>>, string | number>

/** Makes a finding of the check that runs, with its sentences. One that is `ok` has no advice. */
export function finding<Code extends FindingCode>(
  severity: Severity,
  code: Code,
  ...[params]: keyof ParamsOf<Code> extends never ? [] : [ParamsOf<Code>]
): CheckResult {
  const values: Values = params ?? {}
  const texts: Readonly<Record<string, Text>> = FINDING_TEXTS
  const text = texts[code] as Text
  const advice = severity === 'ok' ? undefined : texts[`${code}.advice`]
  return {
    severity,
    code,
    ...(params ? { params: values } : {}),
    text: filled(text, values),
    ...(advice === undefined ? {} : { advice: filled(advice, values) }),
  }
}

/** Uses no Intl: its first use costs a process 40 ms, and a worker makes some findings when it starts. */
function filled(text: Text, values: Values): string {
  const form = typeof text === 'string' ? text : values.n === 1 ? text.one : text.other
  return form.replace(/\{(\w+)\}/g, (_, name) => shown(name, values[name] ?? ''))
}

function shown(name: string, value: string | number): string {
  if (typeof value === 'string') return value
  if (/seconds$/i.test(name)) return duration(value)
  return /bytes$/i.test(name) ? megabytes(value) : count(value)
}
