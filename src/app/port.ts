/** The part of an app that its features use. */

import type { AlertOptions } from '../alerts/options.ts'
import type { Client } from '../client/client.ts'
import type { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import type { JobDefinition } from '../job/definition.ts'
import type { Logger } from '../job/logger.ts'
import type { Payload } from '../job/payload.ts'
import type { Effect, Store } from '../store/contract.ts'
import type { Engine } from '../worker/engine.ts'
import type { Outcome, Plugin } from '../worker/plugin.ts'

/** The options of the app and of the file, merged. */
export interface AppSettings extends Pick<Engine, 'limits' | 'loggedJobAttributes'> {
  /** Seconds; Infinity without a limit. */
  maxIterationRuntime: number
  /** The address of the dashboard, for links. */
  publicUrl: string | undefined
  /** The secret that signs links; undefined: the store keeps one. */
  secret: string | undefined
  alerts: AlertOptions | undefined
}

export interface AppPort {
  /** The store; opened at its first use. @throws UNKNOWN_STORE, INVALID_OPTION */
  readonly store: Store
  /** Returns the time in milliseconds. It may be called without the app as `this`. */
  readonly now: () => number
  readonly log: Logger
  readonly client: Client
  readonly registry: { get(name: string): JobDefinition | undefined }
  readonly hooks: Pick<Engine, 'report' | 'died'>
  readonly settings: AppSettings
  /** Makes each later definition of a name replace the one before it. */
  allowRedefinition(): void
  /** Adds a plugin for the jobs of all workers. */
  addPlugin(plugin: Plugin): void
  /** Returns what running a job in this process uses. */
  engine(): Engine
  /** Returns what the plugins change in the step that moves a job. */
  effects(payload: Payload, outcome: Outcome): Effect[] | undefined
  /** Keeps the outcome of a job that ended without running, for callers that wait for its result. Never throws. */
  keepEnd(payload: Payload, outcome: Outcome): Promise<void>
  /** Returns the end of a job as `keepEnd` keeps it; undefined when nothing is kept. */
  endText(payload: Payload, outcome: Outcome): string | undefined
  /** Runs a job in this process, inside the server middleware or `chain`. @throws what the handler throws */
  run(payload: Payload, chain?: Chain<JobContext, unknown>): Promise<unknown>
}
