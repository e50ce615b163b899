/** `highkiq web`: the dashboard, the HTTP API, and the pages of who submitted a task. */

import type { Command } from 'commander'
import { onInterrupt } from '../interrupt.ts'
import { type AppOptions, withApp, withAppOptions } from '../open-app.ts'
import { print } from '../output.ts'
import { serveWeb, WEB_HOST, WEB_PORT } from '../serve-web.ts'
import { portNumber } from '../usage.ts'

interface WebOptions extends AppOptions {
  port: number
  host: string
  token?: string
  readOnly?: boolean
}

const EXAMPLES = `
At 127.0.0.1 nobody has to log in, and nobody else gets in. Any other --host needs --token, better as HIGHKIQ_WEB_TOKEN:
browsers ask for it, clients send "Authorization: Bearer TOKEN".

Tasks are made of jobs that the files of -r define; everything else works without them.

Examples:
  highkiq web -r jobs.ts
  HIGHKIQ_WEB_TOKEN=… highkiq web -r jobs.ts --host 0.0.0.0 --port 8080
  curl -T products.csv -H content-type:text/csv -X POST 'http://localhost:7433/api/v1/tasks/import?job=ImportProduct'
`

export function register(program: Command): void {
  withAppOptions(program.command('web').description('serve the dashboard and the HTTP API until TERM or INT'))
    .option('-p, --port <number>', 'where it listens', portNumber, WEB_PORT)
    .option('--host <address>', 'where it listens', WEB_HOST)
    .option('--token <token>', 'what lets somebody in; default HIGHKIQ_WEB_TOKEN')
    .option('--read-only', 'everything can be looked at, and nothing changed')
    .addHelpText('after', EXAMPLES)
    .action(web)
}

function web({ port, host, token, readOnly, ...options }: WebOptions): Promise<void> {
  return withApp(options, async (hq) => {
    // A store that can't be opened is told by one line.
    await hq.store.open()
    const { url, close } = await serveWeb(hq, { port, host }, { token, readOnly })
    const interrupt = onInterrupt()
    print(`The dashboard of ${hq.store.url} is at ${url}/`)
    print(`${url}/api/v1 is served, too (see ${url}/api/v1/openapi.json)`)
    await new Promise((resolve) => interrupt.signal.addEventListener('abort', resolve, { once: true }))
    await close()
  })
}
