/** The options of batches and flows. */

import { JOB, type Job } from '../client/job.ts'
import type { PushRequest } from '../client/request.ts'
import { type Duration, LONGEST, millisecondsOf } from '../job/duration.ts'
import { invalidOption } from '../job/errors.ts'
import { isObject, stringifyJson } from '../job/json.ts'
import { checkOptions, type OptionKind, type OptionRule, refuseUnknown, shown } from '../job/options.ts'
import { OTHER_FLOW_NAMES } from '../job/other-names.ts'
import { CHILD_FAILURES, type ChildFailure, MOST_NESTED } from '../store/contract.ts'

/** A job of `onSuccess`, `onComplete` and `onDeath`. */
export type BatchCallback = Job<[bid: string]> | Job<[]>

export interface BatchOptions {
  /** A description for people. */
  description?: string
  /** JSON that the callbacks find in `(await hq.batches.get(bid)).data`; at most 16 kB. */
  data?: unknown
  /** A job pushed once, when all jobs have succeeded, with `(bid)`. */
  onSuccess?: BatchCallback
  /** A job pushed once, when every job has ended for the first time: it succeeded, is dead, or ended without success. */
  onComplete?: BatchCallback
  /** A job pushed once, when the first job has died. */
  onDeath?: BatchCallback
  /** How long the record is kept after the batch has ended: seconds, or a string such as `'7d'`, which is the default. */
  keep?: number | Duration
}

export interface FlowOptions {
  /** How long the results of children are kept after all of them have ended: seconds, or a string such as `'30d'`, which is the default. */
  keep?: number | Duration
}

/** A job with any arguments. */
export interface AnyJob {
  readonly name: string
  request(args: never): PushRequest
}

/** A job of a flow, and the jobs that run before it. For `readonly []` the compiler reads a list as a tuple, which `hq.flow` checks. */
export interface FlowJob {
  /** A job, or what its `set(…)` returns. */
  job: AnyJob
  /** Its arguments; default: none. */
  args?: readonly unknown[] | readonly []
  /** The jobs that must have succeeded before this one runs. */
  children?: readonly FlowJob[] | readonly []
  /**
   * When a child is dead, or ended without success: `fail` (default) moves this job to the dead set; `ignore` runs it once all
   * children have ended; `wait` lets it wait until dead children were retried by hand and have succeeded.
   */
  onChildFailure?: ChildFailure
}

/**
 * A flow whose jobs get arguments of their own types; else what it should be, so that the compiler names the difference.
 * Lists that `map` makes have no known length, so only their elements are checked. A declared `FlowJob` is not checked.
 */
export type CheckedFlow<Flow> = Flow extends RightFlow<Flow> ? Flow : RightFlow<Flow>

type RightFlow<Flow> = FlowJob extends Flow
  ? unknown
  : Flow extends { readonly job: { request(...all: infer All extends unknown[]): unknown } }
    ? { readonly job: Flow['job']; readonly onChildFailure?: ChildFailure } & CheckedArgs<All[0], Flow> &
        CheckedChildren<Flow> & { readonly [Name in Exclude<keyof Flow, keyof FlowJob>]?: never }
    : unknown

type CheckedArgs<Args, Flow> = [Args] extends [never]
  ? unknown
  : Args extends unknown[]
    ? [] extends Args
      ? { readonly args?: ArgsLike<Args, Flow> }
      : { readonly args: ArgsLike<Args, Flow> }
    : unknown

type ArgsLike<Args extends unknown[], Flow> = Flow extends { readonly args: infer Given extends readonly unknown[] }
  ? number extends Given['length']
    ? readonly Args[number][]
    : Readonly<Args>
  : Readonly<Args>

type CheckedChildren<Flow> = Flow extends { readonly children: infer Children extends readonly unknown[] }
  ? { readonly children: { readonly [Index in keyof Children]: RightFlow<Children[Index]> } }
  : unknown

export const CALLBACKS = ['onSuccess', 'onComplete', 'onDeath'] as const

const DAY_MS = 86_400_000
const KEEP_MS = 7 * DAY_MS
/** A parent reads its children in each attempt: 25 retries with the standard delays take about 21 days. */
const FLOW_KEEP_MS = 30 * DAY_MS
const LEAST_KEEP_MS = 60_000
const MAX_DATA = 16_384

const keepRule = (example: string): OptionRule => [
  (time) => millisecondsOf(time) > 0,
  `a time above 0 and at most ${LONGEST}, in seconds or a string such as '${example}'`,
]

const BATCH_OPTIONS: Record<keyof BatchOptions, OptionKind> = {
  description: 'text',
  data: null,
  onSuccess: JOB,
  onComplete: JOB,
  onDeath: JOB,
  keep: keepRule('7d'),
}
const FLOW_OPTIONS: Record<keyof FlowOptions, OptionKind> = { keep: keepRule('30d') }
const FLOW_JOB_OPTIONS: Record<keyof FlowJob, OptionKind> = {
  job: JOB,
  args: [Array.isArray, 'an array, one element for each argument'],
  children: [Array.isArray, 'an array of jobs: { job, args, children }'],
  onChildFailure: CHILD_FAILURES,
}

/** Checks the options, and returns `keep` in milliseconds and the text of `meta`. @throws INVALID_OPTION */
export function readBatchOptions(options: BatchOptions): { keep: number; meta: string } {
  checkOptions('hq.batch', options, BATCH_OPTIONS)
  const { description, data, keep } = options
  const named = CALLBACKS.flatMap((which) => (options[which] ? [[which, options[which].name]] : []))
  const callbacks = named.length > 0 ? Object.fromEntries(named) : undefined
  const meta = JSON.stringify({ description, callbacks })
  if (data === undefined) return { keep: keepMs(keep), meta }
  let text: string | undefined
  try {
    text = stringifyJson(data)
  } catch {
    // The check below refuses the value.
  }
  if (text === undefined || Buffer.byteLength(text) > MAX_DATA) {
    throw invalidOption(`hq.batch: data must be JSON of at most ${MAX_DATA} bytes (got ${shown(data)})`)
  }
  const joined = meta === '{}' ? `{"data":${text}}` : `${meta.slice(0, -1)},"data":${text}}`
  return { keep: keepMs(keep), meta: joined }
}

export const TOO_DEEP = `batches and flows can be nested at most ${MOST_NESTED} levels deep: let a callback or a job create the next ones`

/** Checks a flow down to its last child. `path` names the job in errors; `depth` is its level. @throws INVALID_OPTION */
export function checkFlow(node: FlowJob, path = 'hq.flow', depth = 1): void {
  if (!isObject(node)) throw invalidOption(`${path} must be an object { job, args, children } (got ${shown(node)})`)
  refuseUnknown(path, node, Object.keys(FLOW_JOB_OPTIONS), OTHER_FLOW_NAMES)
  if (!JOB[0](node.job)) throw invalidOption(`${path}: job must be ${JOB[1]} (got ${shown(node.job)})`)
  checkOptions(path, node, FLOW_JOB_OPTIONS)
  if (depth > MOST_NESTED && node.children?.length) throw invalidOption(`hq.flow: ${TOO_DEEP}`)
  for (const [i, child] of (node.children ?? []).entries()) checkFlow(child, `${path}.children[${i}]`, depth + 1)
}

/** Checks the options of a flow, and returns `keep` in milliseconds. @throws INVALID_OPTION */
export function readFlowOptions(options: FlowOptions): number {
  checkOptions('hq.flow', options, FLOW_OPTIONS)
  return keepMs(options.keep, FLOW_KEEP_MS)
}

/** A push that is sent again because its answer was lost must find the record of an empty batch. */
function keepMs(keep: BatchOptions['keep'], otherwise = KEEP_MS): number {
  return keep === undefined ? otherwise : Math.max(millisecondsOf(keep), LEAST_KEEP_MS)
}
