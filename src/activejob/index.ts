/**
 * Works beside Rails: makes arguments of ActiveJob, and passes Rails' attributes from job to job.
 *
 * @module highkiq/activejob
 * @example
 * import { gid, keywords, symbol } from 'highkiq/activejob'
 * await hq.activeJob('ThumbnailJob').performAsync(gid('gid://shop/Picture/7'), symbol('large'), keywords({ force: true }))
 */
export type { ActiveJobEnvelope } from '../job/payload.ts'
export { carryAttributes, currentAttributes } from './current.ts'
export { day, decimal, type GlobalId, gid, keywords, symbol } from './serial.ts'
