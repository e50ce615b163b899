import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { EventEffect } from '#dist/store/contract.js'

/** Victims: processes that work on a store and are killed. What they say, and how to start one. */

const VICTIM = fileURLToPath(new URL('./victim.ts', import.meta.url))

/**
 * `life`: a fixed course of calls. `churn`: random calls without end. `push-one`: one push.
 * Each stops after call `k`, killed by its own hand.
 */
export type Script = 'life' | 'churn' | 'push-one'

export type Fate = 'done' | 'retry' | 'dead' | 'front'

/** What a call means for the jobs, by their ids. */
export interface Deed {
  what: string
  pushes?: string[]
  settles?: { id: string; fate: Fate }[]
  /** How many rows are added. */
  rows?: number
  /** Payloads of an ordered queue that are done with. */
  ends?: string[]
}

/** What a victim writes, a line of JSON each: what it is about to do, and that it was done. */
export type Line = { at: 'intend'; call: number; does: Deed } | { at: 'done'; call: number }

/** A victim's job. Rows of its task have `jid` instead of `id`. */
export interface Story {
  id?: string
  jid?: string
  hk_run?: number
  /** Attempts that have ended. */
  ended?: number
}

export function storyOf(text: string): Story {
  return JSON.parse(text) as Story
}

export function idOf(text: string): string {
  const { id, jid } = storyOf(text)
  return id ?? jid ?? '?'
}

/** The text after an attempt. */
export function later(text: string): string {
  const story = storyOf(text)
  return JSON.stringify({ ...story, ended: (story.ended ?? 0) + 1 })
}

export function queueOf(text: string): string {
  return storyOf(text).jid ? TASK.queue : 'q'
}

/** The change of a row's event; `next`: of the attempt that follows those that have ended. */
export function change(
  text: string,
  status: EventEffect['status'],
  place: EventEffect['place'],
  next: 0 | 1,
): EventEffect[] {
  const { jid, hk_run: run = 1, ended = 0 } = storyOf(text)
  return jid ? [{ kind: 'event', jid, run, attempt: ended + next, status, at: CLOCK, place }] : []
}

export const TASK = { id: '00000000000c4a54', adder: 'victim', queue: 'rows', window: 3 }
export const CLOCK = Date.UTC(2026, 4, 17, 12)

export interface Victim {
  process: ChildProcess
  /** Resolves when it is dead, with what it said; rejects when it ended in any other way than by being killed. */
  lines: Promise<Line[]>
  /** Resolves with its first word. */
  begun: Promise<void>
}

export function startVictim(url: string, script: Script, k: number, seed = 1, program = VICTIM): Victim {
  const child = spawn(process.execPath, ['--import', 'tsx', program, url, script, String(k), String(seed)])
  let out = ''
  let err = ''
  const begun = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()))
  child.stdout.on('data', (data) => {
    out += data
  })
  child.stderr.on('data', (data) => {
    err += data
  })
  const lines = new Promise<Line[]>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (signal !== 'SIGKILL') reject(new Error(`the victim ended by itself (${code ?? signal}): ${err}`))
      else resolve(linesOf(out))
    })
  })
  return { process: child, lines, begun }
}

/** The last line may have been cut off by the kill. */
function linesOf(out: string): Line[] {
  const whole = out.slice(0, out.lastIndexOf('\n') + 1)
  return whole
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)
}

/** Two at a time. */
export async function inPairs<T>(items: T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  const rest = items.map((item, index) => ({ item, index }))
  const lane = async () => {
    for (let next = rest.shift(); next; next = rest.shift()) await work(next.item, next.index)
  }
  await Promise.all([lane(), lane()])
}
