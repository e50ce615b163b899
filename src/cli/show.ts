/** Shared by commands that only show something, once or repeatedly (`--watch`). */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Highkiq } from '../index.ts'
import { fitTables, io } from './io.ts'
import { type AppOptions, sayStore, withAppOptions, withExistingStore } from './open-app.ts'
import { count, print, printJson } from './output.ts'
import { onInterrupt } from './terminal.ts'

const WATCH_MS = 1000
const CLEAR = '\x1b[H\x1b[2J\x1b[3J'

export interface ShowOptions extends AppOptions {
  watch?: boolean
  wide?: boolean
}

export function withShowOptions(command: Command): Command {
  return withAppOptions(command)
    .option('--json', 'as JSON')
    .option('--wide', 'do not cut tables to the width of the terminal; what is not printed to a terminal is never cut')
    .option('--watch', 'repeat every second until Ctrl-C (with --json one line each time)')
}

export interface View<T> {
  get: (hq: Highkiq) => Promise<T>
  text: (value: T) => string
  /** Returns what `--json` prints; default: the value. */
  json?: (value: T) => unknown
}

export function show<T>(options: ShowOptions, { get, text, json = (value) => value }: View<T>): Promise<void> {
  if (!options.wide) fitTables()
  return withExistingStore(options, async (hq) => {
    const once = async () => {
      const value = await get(hq)
      if (options.json) printJson(json(value))
      else print(options.watch && io().stdout.isTTY ? CLEAR + text(value) : text(value))
    }
    await once()
    sayStore(hq, options)
    if (!options.watch) return
    const { signal, release } = onInterrupt()
    try {
      while (await waitForRefresh(signal)) await once()
    } finally {
      release()
    }
  })
}

/** The first items of a list, and whether there are more. */
export interface FirstItems<T> {
  items: T[]
  more: boolean
}

/** Shows the first items of a list, and says when `--limit` leaves out others. */
export function showFirst<T>(
  options: ShowOptions,
  { get, text }: { get: (hq: Highkiq) => Promise<FirstItems<T>>; text: (items: T[]) => string },
): Promise<void> {
  return show(options, {
    get,
    json: ({ items }) => items,
    text: ({ items, more }) => text(items) + (more ? `\n${count(items.length)} shown; --limit shows more` : ''),
  })
}

/** Waits until `--watch` refreshes. Resolves with false after Ctrl-C. */
export async function waitForRefresh(signal: AbortSignal): Promise<boolean> {
  await sleep(WATCH_MS, undefined, { signal }).catch(() => {})
  return !signal.aborted
}
