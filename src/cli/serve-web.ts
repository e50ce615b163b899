/** Serves the dashboard and the API, for `highkiq web` and `highkiq work --web`. */

import { variable } from '../environment.ts'
import type { Highkiq } from '../index.ts'
import { io } from './io.ts'
import { CliError } from './usage.ts'

export const WEB_PORT = 7433
export const WEB_HOST = '127.0.0.1'

export interface WebAddress {
  port: number
  host: string
}

/** @throws CliError when the address can't be used, with what to do */
export async function serveWeb(
  hq: Highkiq,
  { port, host }: WebAddress,
  { token = variable('HIGHKIQ_WEB_TOKEN', io().env), readOnly = false }: { token?: string; readOnly?: boolean } = {},
): Promise<{ url: string; close(): Promise<void> }> {
  if (token === '') throw new CliError('--token must not be empty: give a long secret, or leave it out', 2)
  if (token === undefined) await checkHost(host)
  const auth = token === undefined ? {} : { auth: { bearer: token } }
  // Loaded only here, because most commands do not serve.
  const { serve } = await import('../http/index.ts')
  return serve(hq, { port, host, readOnly, ...auth }).catch((thrown) => {
    throw listenError(thrown)
  })
}

/** @throws CliError when other machines could reach the address without a login */
export async function checkHost(host: string): Promise<void> {
  const { isLoopback } = await import('../http/access/local.ts')
  if (variable('HIGHKIQ_WEB_TOKEN', io().env) !== undefined || isLoopback(host)) return
  const message = `other machines can reach ${host}, so it needs a token: set HIGHKIQ_WEB_TOKEN (or highkiq web --token), or leave out the host`
  throw new CliError(message, 2)
}

/** The errors of `listen` for which `serve` has advice. */
const LISTEN_CODES = new Set(['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'])

/** Shows an error of `listen` as one line, without a stack. */
function listenError(thrown: unknown): unknown {
  const { code = '', message } = (thrown ?? {}) as NodeJS.ErrnoException
  return LISTEN_CODES.has(code) ? new CliError(message) : thrown
}
