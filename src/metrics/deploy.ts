/** Marks deploys, so that charts show what they changed. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import type { Store } from '../store/contract.ts'

const MINUTE = 60_000

export interface DeployMark {
  /** The start of the minute of the deploy. */
  at: Date
  label: string
}

/** @throws INVALID_OPTION */
export async function markDeploy(store: Store, now: number, label?: string, at?: Date): Promise<boolean> {
  const time = at === undefined ? now : at instanceof Date ? at.getTime() : Number.NaN
  if (Number.isNaN(time)) throw invalidOption('deploy: at must be a valid Date')
  const text = label === undefined ? await lastCommit() : label
  if (typeof text !== 'string' || text.trim() === '')
    throw invalidOption('deploy: label must be a string that is not empty')
  return store.metrics.recordDeploy({ at: time - (time % MINUTE), label: text.trim() }, now)
}

/** `7d1ac02 Fix it`, as Sidekiq labels its deploys. */
async function lastCommit(): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('git', ['log', '-1', '--format=%h %s'])
    return stdout
  } catch (thrown) {
    const message = 'deploy needs a label here, for instance the version: the last commit of git can’t be read'
    throw new HighkiqError('INVALID_OPTION', message, undefined, { cause: thrown })
  }
}
