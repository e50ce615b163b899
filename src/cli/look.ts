/** A command that only shows something, once or (`--watch`) again and again. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Highkiq } from '../index.ts'
import { onInterrupt } from './interrupt.ts'
import { type AppOptions, withAppOptions, withExistingStore } from './open-app.ts'
import { print, printJson } from './output.ts'

const WATCH_MS = 1000
const CLEAR = '\x1b[H\x1b[2J\x1b[3J'

export interface LookOptions extends AppOptions {
  json?: boolean
  watch?: boolean
}

export function withLookOptions(command: Command): Command {
  return withAppOptions(command)
    .option('--json', 'as JSON')
    .option('--watch', 'again each second, until Ctrl-C (with --json one line each)')
}

export interface Look<T> {
  get: (hq: Highkiq) => Promise<T>
  text: (value: T) => string
}

export function look<T>(options: LookOptions, { get, text }: Look<T>): Promise<void> {
  return withExistingStore(options, async (hq) => {
    const show = async () => {
      const value = await get(hq)
      if (options.json) printJson(value)
      else print(options.watch && process.stdout.isTTY ? CLEAR + text(value) : text(value))
    }
    await show()
    if (!options.watch) return
    const { signal, release } = onInterrupt()
    try {
      while (await again(signal)) await show()
    } finally {
      release()
    }
  })
}

async function again(signal: AbortSignal): Promise<boolean> {
  await sleep(WATCH_MS, undefined, { signal }).catch(() => {})
  return !signal.aborted
}

/** What an async iterable has, as an array. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}
