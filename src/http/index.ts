/**
 * The HTTP API: jobs and tasks over HTTP, the dashboard, and a page for the submitter of a task.
 *
 * @module highkiq/http
 * @example
 * import { createServer } from 'node:http'
 * import { nodeListener } from 'highkiq/http'
 * createServer(nodeListener(hq)).listen(7433, '127.0.0.1')
 */

export type { Auth } from './access/access.ts'
export type { Audit, AuditEntry } from './access/audit.ts'
export type { Peer } from './access/local.ts'
export type { Redact } from './access/redact.ts'
export { createHandler, type FetchHandler, type Origin } from './handler.ts'
export { type NodeListener, nodeListener, type ServeOptions, serve } from './node.ts'
export type { Imports, ImportsOfJob } from './server/import-defaults.ts'
export type { HttpOptions, Limits } from './server/server-context.ts'
