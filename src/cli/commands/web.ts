/** `highkiq web` serves the dashboard, the HTTP API and the submitters' pages. */

import type { Command } from 'commander'
import { PROGRAM } from '../../app.ts'
import { type AppOptions, withApp, withAppOptions } from '../open-app.ts'
import { print } from '../output.ts'
import { serveWeb, WEB_HOST, WEB_PORT } from '../serve-web.ts'
import { onInterrupt } from '../terminal.ts'
import { portNumber } from '../usage.ts'

interface WebOptions extends AppOptions {
  port: number
  host: string
  token?: string
  readOnly?: boolean
}

const EXAMPLES = `
At 127.0.0.1 only this machine can connect, and no login is needed. Any other --host needs --token, better set as
HIGHKIQ_WEB_TOKEN. Browsers ask for it; clients send "Authorization: Bearer TOKEN".

Importing files needs -r with the file that defines the jobs; everything else works without it. Beside Sidekiq 7 or 6,
use -r always: the option wire of the app decides how jobs are written.
With -r it also sends the alerts of the app, so that they arrive while no worker runs.

Examples:
  highkiq web -r jobs.ts
  HIGHKIQ_WEB_TOKEN=… highkiq web -r jobs.ts --host 0.0.0.0 --port 8080
  curl -T products.csv -H content-type:text/csv -X POST 'http://localhost:7433/api/v1/tasks/import?job=ImportProduct'
`

export function register(program: Command): void {
  withAppOptions(program.command('web').description('serve the dashboard and the HTTP API until SIGTERM or SIGINT'))
    .option('-p, --port <number>', 'port to listen on', portNumber, WEB_PORT)
    .option('--host <address>', 'address to listen on', WEB_HOST)
    .option('--token <token>', 'token for logging in (default: HIGHKIQ_WEB_TOKEN)')
    .option('--read-only', 'refuse every change')
    .addHelpText('after', EXAMPLES)
    .action(web)
}

function web({ port, host, token, readOnly, ...options }: WebOptions): Promise<void> {
  return withApp(options, async (hq) => {
    // Open the store first, so that an error is printed once.
    await hq.store.open()
    const { url, close } = await serveWeb(hq, { port, host }, { token, readOnly })
    // Without a worker, this process tells that there is none.
    const sender = hq[PROGRAM].alertSender()
    await sender?.start()
    const interrupt = onInterrupt()
    print(`The dashboard of ${hq.store.url} is at ${url}/`)
    print(`The HTTP API is at ${url}/api/v1 (described by ${url}/api/v1/openapi.json)`)
    await new Promise((resolve) => interrupt.signal.addEventListener('abort', resolve, { once: true }))
    await Promise.all([close(), sender?.stop?.()])
  })
}
