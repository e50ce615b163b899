/** Finds and watches tracked tasks for commands. */

import { workCommand } from '../app/unserved-queues.ts'
import type { Highkiq, Task, TaskStatus } from '../index.ts'
import { quoted } from '../job/shell.ts'
import { metaOf } from '../tasks/meta.ts'
import { setExitCode } from './io.ts'
import { type AppOptions, sameApp } from './open-app.ts'
import { resumeHint } from './outcome.ts'
import { unservedHint } from './processes.ts'
import { watchTask } from './task-progress.ts'
import { startTaskWorker, type WorkOptions } from './task-worker.ts'
import { onInterrupt } from './terminal.ts'
import { CliError, printToStderr } from './usage.ts'

/** @throws CliError when there is no such task */
export async function existing(hq: Highkiq, id: string): Promise<Task> {
  const task = hq.tasks.get(id)
  await statusOf(task)
  return task
}

/** @throws CliError when there is no such task */
export async function statusOf(task: Task): Promise<TaskStatus> {
  const status = await task.status()
  if (!status)
    throw new CliError(`there is no task ${task.id}: it was deleted, or the id is wrong (highkiq task list shows all)`)
  return status
}

/** Returns the name of the file that a task imported, and the format of the file that it exports. */
export async function filesOf(hq: Highkiq, id: string): Promise<{ imported?: string; exported?: string }> {
  const record = await hq.store.tasks.find(id)
  const meta = record ? metaOf(record) : {}
  return {
    ...(meta.format ? { imported: meta.file?.name ?? 'FILE' } : {}),
    ...(meta.export ? { exported: meta.export.format } : {}),
  }
}

/** Shows a task until it has ended; with `--work`, runs the jobs of its queue. Returns undefined after Ctrl-C. */
export async function untilEnd(
  hq: Highkiq,
  { id, name, queue }: TaskStatus,
  options: AppOptions & WorkOptions,
): Promise<TaskStatus | undefined> {
  const task = hq.tasks.get(id)
  const interrupt = onInterrupt()
  try {
    if (options.work) await startTaskWorker(hq, queue, options)
    return await watchTask(task, { title: name, signal: interrupt.signal })
  } catch (thrown) {
    if (!interrupt.signal.aborted) throw thrown
    setExitCode(interrupt.exitCode)
    await sayThatTaskContinues(task, options)
    return undefined
  } finally {
    interrupt.release()
  }
}

/** Prints the task's state after Ctrl-C and how to watch it again. */
export async function sayThatTaskContinues(task: Task, options: AppOptions & WorkOptions): Promise<void> {
  const status = await task.status().catch(() => null)
  const hint = status?.state === 'paused' ? resumeHint(status, options) : undefined
  if (hint)
    printToStderr(`task ${task.id} is paused${status?.reason === undefined ? '' : `: ${status.reason}`}; ${hint}`)
  else if (options.work && status)
    printToStderr(
      `task ${task.id} is not done; to continue it, start a worker: ${workCommand([status.queue], sameApp(options))}`,
    )
  else printToStderr(`stopped watching; task ${task.id} continues`)
  printToStderr(`watch it again: highkiq task show ${task.id} --watch${sameApp(options)}`)
}

/** Returns what to do about a task that has not ended. `file` is the file that it imports. */
export async function nextStep(hq: Highkiq, status: TaskStatus, file: string, options: AppOptions): Promise<string> {
  const { id, job, queue, state } = status
  const app = sameApp(options)
  if (state === 'interrupted')
    return `to resume: highkiq import ${quoted(file)} --job ${quoted(job)} --resume ${id}${app}`
  const hint = state === 'paused' ? resumeHint(status, options) : undefined
  if (hint) return hint
  return (await unservedHint(hq, id, queue, options)) ?? `to watch it: highkiq task show ${id} --watch${app}`
}
