/** Finds and watches tracked tasks for commands. */

import type { Highkiq, Task, TaskStatus } from '../index.ts'
import { metaOf } from '../tasks/meta.ts'
import { setExitCode } from './io.ts'
import { watchTask } from './progress.ts'
import { onInterrupt } from './terminal.ts'
import { CliError } from './usage.ts'

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
    ...(meta.format ? { imported: meta.source ?? 'FILE' } : {}),
    ...(meta.export ? { exported: meta.export.format } : {}),
  }
}

/** Shows a task until it has ended. Returns undefined after Ctrl-C. */
export async function untilEnd(task: Task, title: string): Promise<TaskStatus | undefined> {
  const interrupt = onInterrupt()
  try {
    return await watchTask(task, { title, signal: interrupt.signal })
  } catch (thrown) {
    if (!interrupt.signal.aborted) throw thrown
    setExitCode(interrupt.exitCode)
    return undefined
  } finally {
    interrupt.release()
  }
}
