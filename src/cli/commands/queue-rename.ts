/** `highkiq queues rename` moves the jobs of a queue to another queue, while workers run. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { PORT } from '../../app.ts'
import type { Highkiq } from '../../index.ts'
import { limitLike, NOTHING_LEFT, pauseLike, renamePass } from '../../inspect/rename-queue.ts'
import { checkQueueName } from '../../job/definition.ts'
import { isPriorityName } from '../../job/priority.ts'
import { quoted } from '../../job/shell.ts'
import { setExitCode } from '../io.ts'
import { OPTIONS_OF_PARENT, sameApp, withExistingStore } from '../open-app.ts'
import { plural, printResult } from '../output.ts'
import type { ShowOptions } from '../show.ts'
import { onInterrupt } from '../terminal.ts'
import { CliError, printToStderr } from '../usage.ts'
import { textOfRest } from './move.ts'

/** Milliseconds between two passes. */
const PASS_MS = 1000

const HELP = `
First let your app push to the new queue, and start workers that serve both queues. If the old queue is paused, the new one
gets paused, too. Limits that were set for the old queue are set for the new one. Meanwhile both limits hold, one for each
queue, unless the app has the option queues: { OLD: { limitOf: NEW } }.

The command waits until no job of the old queue runs. Rows of tasks, jobs of batches and jobs of cron entries stay. Not counted,
because they come to the old queue later: rows in backlogs, callbacks of tasks and batches, and parent jobs that wait for their
children. After a crash or Ctrl-C run it again.

Examples:
  highkiq queues rename mail letters
`

export function registerRename(queues: Command): void {
  queues
    .command('rename')
    .description('move the jobs of a queue to another queue')
    .argument('<old>', 'queue that has the jobs')
    .argument('<new>', 'queue that gets them')
    .addHelpText('after', HELP + OPTIONS_OF_PARENT)
    .action((from: string, to: string, _: object, self: Command) => {
      const options: ShowOptions = self.optsWithGlobals()
      return withExistingStore(options, (hq) => rename(hq, from, to, options))
    })
}

async function rename(hq: Highkiq, from: string, to: string, { json, watch, ...app }: ShowOptions): Promise<void> {
  checkQueueName(to)
  if (watch) throw new CliError("rename can't be combined with --watch: it waits until the jobs have moved", 2)
  if (from === to || isPriorityName(from) || isPriorityName(to)) {
    throw new CliError(`name two queues, without a priority such as p3:mail (got ${from} and ${to})`, 2)
  }
  const { signal, release } = onInterrupt()
  let moved = 0
  let left = NOTHING_LEFT
  try {
    if (await pauseLike(hq[PORT], from, to)) {
      printToStderr(`${to} is paused now, as ${from} is; to resume: highkiq resume ${quoted(to)}${sameApp(app)}`)
    }
    if (await limitLike(hq[PORT], from, to)) printToStderr(`${to} has the limits of ${from} now: highkiq limits`)
    for (let empty = 0; empty < 2 && !signal.aborted; ) {
      const before = left.running
      const pass = await renamePass(hq[PORT], from, to, signal)
      moved += pass.moved
      left = pass.left
      empty = pass.moved + left.running === 0 ? empty + 1 : 0
      if (left.running > 0 && left.running !== before)
        printToStderr(`waiting for ${plural(left.running, 'running job')}`)
      if (empty < 2) await sleep(PASS_MS, undefined, { signal }).catch(() => {})
    }
    if (signal.aborted) setExitCode(130)
  } finally {
    release()
  }
  const lines = [`moved ${plural(moved, 'job')} from ${from} to ${to}`]
  const stays = textOfRest(left)
  if (stays) {
    const resume = (await hq.store.jobs.pausedQueues()).includes(from) ? 'resume it, and ' : ''
    lines.push(`left in ${from}: ${stays}; ${resume}let a worker serve ${from} until they have run`)
  }
  if (left.ended > 0) lines.push(`left in the dead set, for ${from}: ${plural(left.ended, 'job')} of tasks and batches`)
  lines.push(
    `not counted: rows in backlogs, callbacks of tasks and batches, and waiting parent jobs, which come to ${from} later`,
  )
  if (moved === 0 && lines.length === 2) lines.push(`no job of ${from} was found that can move: check its name`)
  printResult(json, { moved, left }, lines.join('\n'))
}
