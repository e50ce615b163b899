/** `highkiq move` moves the jobs of a store to another one, while workers run on both sides. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { workCommand } from '../../app/unserved-queues.ts'
import { liveProcesses, unservedWaiting } from '../../doctor/processes.ts'
import { Highkiq } from '../../index.ts'
import { liveOwners } from '../../inspect/orphans.ts'
import { isUnreachable } from '../../job/errors.ts'
import { quoted } from '../../job/shell.ts'
import { isDone, type Pass, StoreMover } from '../../transfer/mover.ts'
import type { RestCounts } from '../../transfer/rest.ts'
import { io, setExitCode } from '../io.ts'
import { checkLogVariables, checkStoreExists, sameApp } from '../open-app.ts'
import { count, plural, printResult } from '../output.ts'
import { onInterrupt } from '../terminal.ts'
import { CliError, printToStderr } from '../usage.ts'

/** Milliseconds between two passes. */
const PASS_MS = 1000
/** After this many milliseconds a line of progress is written, if it has changed. */
const PROGRESS_MS = 1000

interface MoveOptions {
  from: string
  to?: string
  once?: boolean
  dryRun?: boolean
  undo?: boolean
  json?: boolean
}

const HELP = `
First let your app push to the new store, and start workers there. Keep the workers of the old store. Programs that push to
an ordered queue are an exception: they push to the old store until the queue has moved.
Jobs move page by page, each once, and tasks as a whole, with their rows, events and results. A running job stays until it has
ended; so do jobs of batches. The command waits until workers of the old store have run them. An ordered queue moves while it is
paused in the old store; the command pauses one that no worker serves. Kept results and metrics do not move.
Run it again after a crash or Ctrl-C: it finishes what it began.

Examples:
  highkiq move --from sqlite:highkiq.db --to redis://localhost:6379 --dry-run
  highkiq move --from sqlite:highkiq.db --to redis://localhost:6379
  highkiq move --from sqlite:highkiq.db --to redis://localhost:6379 --undo   (move back what a crash left between the stores)
`

export function register(program: Command): void {
  program
    .command('move')
    .description('move the jobs of a store to another one')
    .requiredOption('--from <url>', 'store that has the jobs')
    .option('--to <url>', 'store that gets them')
    .option('--once', 'move what can move now, and do not wait for the rest')
    .option('--dry-run', 'count what would move, and change nothing')
    .option(
      '--undo',
      'move back the jobs that an interrupted move holds; without --to also those that the other store has',
    )
    .option('--json', 'as JSON')
    .addHelpText('after', HELP)
    .action(move)
}

async function move(options: MoveOptions): Promise<void> {
  const { from, to, undo, dryRun } = options
  checkLogVariables()
  if (to === undefined && !undo && !dryRun)
    throw new CliError('--to is missing: give the URL of the new store, such as --to redis://localhost:6379', 2)
  if (undo && (dryRun || options.once))
    throw new CliError("--undo can't be combined with --once or --dry-run: give it alone", 2)
  if (dryRun && options.once)
    throw new CliError("--dry-run can't be combined with --once: it only counts, so it never waits", 2)
  const source = new Highkiq({ url: from })
  const target = to === undefined ? null : new Highkiq({ url: to })
  const { signal, release } = onInterrupt()
  try {
    checkStoreExists(source, { url: from }, '--from')
    const progress = new Progress()
    const mover = new StoreMover({
      source: source.store,
      target: target?.store ?? null,
      signal,
      onMoved: (moved) => progress.show(moved),
      onPaused: (queue) =>
        printToStderr(`paused the ordered queue ${queue} in the old store, because its ids move; it stays paused`),
    })
    if (undo) await undoMove(mover, options)
    else if (dryRun) {
      const counted = await mover.count()
      report(options, counted, 'would move')
      for (const queue of counted.served) adviseToPause(queue, from)
    } else {
      const moved = await moveAll(mover, options, signal, progress)
      report(options, moved, 'moved')
      if (target) await warnOfUnserved(target, to)
    }
    if (signal.aborted) setExitCode(130)
  } finally {
    release()
    await Promise.all([source.close(), target?.close()])
  }
}

/** `left` is null when Ctrl-C ended the first pass, which has not counted everything. */
type Moved = Omit<Pass, 'left' | 'served'> & { left: RestCounts | null }

/**
 * Passes until the source is empty twice in a row. A job may be on its way between two sets while one pass reads them. What has
 * not moved at the end runs in the old store again, also after an error.
 */
async function moveAll(
  mover: StoreMover,
  { once, from }: MoveOptions,
  signal: AbortSignal,
  progress: Progress,
): Promise<Moved> {
  let left: RestCounts | null = null
  let reached = false
  const advised = new Set<string>()
  for (let begun = false, empty = 0; !signal.aborted; ) {
    try {
      if (!begun) await mover.begin()
      begun = reached = true
      const pass = await mover.pass()
      // A pass that Ctrl-C ended has not counted everything.
      if (!signal.aborted) left = pass.left
      empty = isDone(pass) ? empty + 1 : 0
      progress.show(mover.moved, left ?? undefined)
      for (const queue of pass.served) {
        if (!advised.has(queue)) adviseToPause(queue, from)
        advised.add(queue)
      }
      if (once || empty === 2) break
    } catch (thrown) {
      // A store that was never reached may be named wrongly.
      if (!isUnreachable(thrown) || once || !reached) {
        if (reached) await releaseTasks(mover).catch(() => {})
        throw thrown
      }
      // A step may be done although its answer is lost, so the mover looks for the page first.
      begun = false
      io().stderr.write(`highkiq: ${(thrown as Error).message}; trying again\n`)
    }
    await sleep(PASS_MS, undefined, { signal }).catch(() => {})
  }
  await releaseTasks(mover)
  return { moved: mover.moved, tasks: mover.movedTasks, left }
}

async function releaseTasks(mover: StoreMover): Promise<void> {
  try {
    await mover.release()
  } catch (thrown) {
    printToStderr(
      'jobs and tasks may be between the stores, where they do not run: run this command again, or add --undo',
    )
    throw thrown
  }
}

function adviseToPause(queue: string, from: string): void {
  printToStderr(
    `the ordered queue ${queue} moves once it is paused: highkiq ordered pause ${quoted(queue)} --url ${quoted(from)}`,
  )
}

/** Names the queues of the new store whose jobs no worker runs. */
async function warnOfUnserved(target: Highkiq, url: string | undefined): Promise<void> {
  const { live } = await liveProcesses(target, await liveOwners(target.store))
  const names = unservedWaiting(live, await target.queueSummaries()).map(({ name }) => name)
  if (names.length === 0) return
  printToStderr(
    `in the new store no worker serves ${names.join(', ')}: start one with \`${workCommand(names, sameApp({ url }))}\``,
  )
}

async function undoMove(mover: StoreMover, { json }: MoveOptions): Promise<void> {
  const back = await mover.undo()
  const text = back
    ? `moved back: ${jobsAndTasks(back.jobs, back.tasks)}`
    : 'nothing to undo: no move of this store was interrupted'
  printResult(json, { movedBack: back?.jobs ?? 0, tasks: back?.tasks ?? 0 }, text)
}

function report({ json }: MoveOptions, { moved, tasks, left }: Moved, verb: string): void {
  const lines = [`${verb} ${jobsAndTasks(moved, tasks)}`]
  const waits = left ? textOfRest(left) : ''
  if (waits) lines.push(`left: ${waits}`)
  if (left && left.ended > 0) lines.push(`left: ${plural(left.ended, 'dead job')} of batches and ordered queues`)
  printResult(json, { moved, tasks, left }, lines.join('\n'))
}

function jobsAndTasks(jobs: number, tasks: number): string {
  return plural(jobs, 'job') + (tasks > 0 ? ` and ${plural(tasks, 'task')}` : '')
}

/** Returns the numbers of the jobs that did not move, as text; '' if there are none. */
export function textOfRest({
  running = 0,
  rows = 0,
  tasks = 0,
  batches = 0,
  crons = 0,
  ordered = 0,
  others = 0,
}: Partial<RestCounts>): string {
  const parts = [
    running > 0 && plural(running, 'running job'),
    rows > 0 && `${plural(rows, 'row')} of tasks`,
    tasks > 0 && plural(tasks, 'task'),
    batches > 0 && `${plural(batches, 'job')} of batches`,
    crons > 0 && `${plural(crons, 'job')} of cron entries`,
    ordered > 0 && `${plural(ordered, 'id')} of ordered queues`,
    others > 0 && plural(others, 'other job'),
  ]
  return parts.filter((part) => part !== false).join(', ')
}

/** Writes a line to standard error when it differs from the last one, and at most one a second. */
class Progress {
  #last = ''
  #at = Number.NEGATIVE_INFINITY

  show(moved: number, left?: RestCounts): void {
    const waits = left ? textOfRest(left) : ''
    const line = `${count(moved)} moved${waits ? ` · the old store still has ${waits}` : ''}`
    if (line === this.#last || performance.now() - this.#at < PROGRESS_MS) return
    this.#last = line
    this.#at = performance.now()
    io().stderr.write(`${line}\n`)
  }
}
