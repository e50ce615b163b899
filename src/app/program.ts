/** The methods for programs that load an app. */

import { accessTo } from '../batches/batches.ts'
import type { CancelAnswer } from '../cancellation/cancel.ts'
import { cancelJobs } from '../cancellation/cancel-many.ts'
import type { NewJob, Pushed } from '../client/push-target.ts'
import type { PushRequest } from '../client/request.ts'
import { type DuplicateChanges, type DuplicateId, duplicateJob } from '../inspect/edit.ts'
import type { JobRecord } from '../inspect/record.ts'
import type { JobDefinition } from '../job/definition.ts'
import type { BackgroundService } from '../worker/background-service.ts'
import type { PROGRAM, ThreadApp } from '../worker/threads/inside.ts'
import type { Runtime } from './runtime.ts'
import type { Setup } from './setup.ts'
import type { UnservedAdvice } from './unserved-queues.ts'

/** Methods for programs that load an app (CLI, demo, tests), in addition to the public ones. */
export type Program = ThreadApp[typeof PROGRAM] &
  Pick<Setup, 'useFiles' | 'useFile'> & {
    /**
     * Drains the store at `url`: workers made after this call run its jobs and leave cron entries alone. New jobs go to
     * the app's own store.
     * @throws INVALID_OPTION if both are the same store
     */
    drain(url: string): void
    /** Pushes a job like `hq.push`, and says whether another job has the lock of a unique one. */
    pushed(request: PushRequest, newJob?: NewJob): Promise<Pushed>
    /** Pushes a job again like `hq.duplicate`, with an id of the caller. */
    duplicate(job: JobRecord, changes: DuplicateChanges, id?: DuplicateId): Promise<string | null>
    /** Cancels some jobs, with one request for all of them. */
    cancel(jids: readonly string[]): Promise<Map<string, CancelAnswer>>
    /** Replaces what a starting worker says about queues that no process serves. */
    adviseUnserved(advice: UnservedAdvice): void
    /** A process title with the pieces that were added to it. */
    titleOf(title: string): string
    /** Returns the service that sends alerts, for a program without a worker; undefined without the option `alerts`. */
    alertSender(): BackgroundService | undefined
    /** Whether an ordered queue of that name is defined here. */
    isOrdered(name: string): boolean
    /** All jobs that are defined here, as they were defined. */
    jobs(): JobDefinition[]
  }

export function programOf(app: Runtime): Program {
  const { client, hooks, ordered, registry, setup } = app
  return {
    useUrl: (url) => setup.useUrl(url),
    drain: (url) => {
      const own = setup.drain(url)
      client.divert(own)
      app.log.info({ store: app.store.url, newJobs: own.url }, `draining ${app.store.url}: new jobs go to ${own.url}`)
    },
    pushed: (request, newJob) => client.pushed(request, newJob),
    duplicate: (job, changes, id) => duplicateJob(app, job, changes, id),
    cancel: (jids) => cancelJobs(app, jids),
    useFiles: (files) => setup.useFiles(files),
    useFile: (about, custom) => setup.useFile(about, custom),
    adviseUnserved: (advice) => {
      setup.unservedAdvice = advice
    },
    refuseStore: (why) => setup.refuseStore(why),
    titleOf: (title) => app.title.of(title),
    alertSender: () => app.alertSender(),
    isOrdered: (name) => ordered.get(name) !== undefined,
    jobs: () => registry.jobs,
    definitionOf: (name, queue) => registry.of(name, queue),
    batches: accessTo(app),
    isBusiness: (error) => hooks.isBusiness(error),
    within: app.within,
  }
}
