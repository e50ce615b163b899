import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Victims: processes that work on a store and are killed. Their output, and how to start one. */

const VICTIM = fileURLToPath(new URL('./victim.js', import.meta.url))

/**
 * `life`: a fixed course of calls. `churn`: random calls without end. `push-one`: one push.
 * Each stops after call `k`, killed by its own hand.
 */
export type Script = 'life' | 'churn' | 'push-one'

export type Fate = 'done' | 'finished' | 'retry' | 'dead' | 'front'

/** What a call changes, by the ids of jobs. */
export interface Call {
  what: string
  pushes?: string[]
  settles?: { id: string; fate: Fate }[]
  /** How many rows are added. */
  rows?: number
  /** Payloads of an ordered queue that are done with. */
  ends?: string[]
}

/** The output of a victim, a line of JSON each: before a call, and after it. */
export type Intent = { at: 'intend'; call: number; does: Call } | { at: 'done'; call: number }

export interface Victim {
  process: ChildProcess
  /** Resolves with its output when it was killed; rejects when it ended in any other way. */
  lines: Promise<Intent[]>
  /** Resolves with its first output. */
  begun: Promise<void>
}

export function startVictim(
  { module }: { module: string | undefined },
  url: string,
  script: Script,
  k: number,
  seed = 1,
  program = VICTIM,
): Victim {
  const registration = module === undefined ? [] : ['--import', module]
  const child = spawn(process.execPath, [...registration, program, url, script, String(k), String(seed)])
  let out = ''
  let err = ''
  const begun = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()))
  child.stdout.on('data', (data) => {
    out += data
  })
  child.stderr.on('data', (data) => {
    err += data
  })
  const lines = new Promise<Intent[]>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (signal !== 'SIGKILL') reject(new Error(`the victim ended by itself (${code ?? signal}): ${err}`))
      else resolve(intentsOf(out))
    })
  })
  return { process: child, lines, begun }
}

/** The last line may have been cut off by the kill. */
function intentsOf(out: string): Intent[] {
  const whole = out.slice(0, out.lastIndexOf('\n') + 1)
  return whole
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Intent)
}

/** Two at a time. */
export async function inPairs<T>(items: T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  const rest = items.map((item, index) => ({ item, index }))
  const lane = async () => {
    for (let next = rest.shift(); next; next = rest.shift()) await work(next.item, next.index)
  }
  await Promise.all([lane(), lane()])
}
