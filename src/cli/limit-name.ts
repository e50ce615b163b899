/** The name of a limit with its kind: `queue mail`, or `job Import #2` for the second limit of a job. */

import type { LimitInfo } from '../index.ts'

const KINDS = { job: 'job ', shared: 'limit ', queue: 'queue ', app: '' }

export function limitName({ kind, name, position }: Pick<LimitInfo, 'kind' | 'name' | 'position'>): string {
  return `${KINDS[kind]}${name}${position > 1 ? ` #${position}` : ''}`
}
