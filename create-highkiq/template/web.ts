import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { nodeListener } from 'highkiq/http'
import { hq, Welcome } from './jobs.ts'

const { HOST = '127.0.0.1', PORT = '3000', HIGHKIQ_WEB_TOKEN: token } = process.env

// Without a token only this machine may open the dashboard.
const dashboard = nodeListener(hq, { basePath: '/jobs', ...(token ? { auth: { bearer: token } } : {}) })

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  if (/^\/jobs(\/|$)/.test(pathname)) return dashboard(request, response)
  const name = searchParams.get('name')
  response.setHeader('content-type', 'application/json')
  if (request.method === 'POST' && pathname === '/welcome' && name) {
    const jid = await Welcome.performAsync(name)
    response.writeHead(202).end(JSON.stringify({ jid }))
  } else {
    response.writeHead(404).end('{"error":"POST /welcome?name=ann pushes a job; the dashboard is at /jobs/"}')
  }
}

const server = createServer((request, response) => {
  answer(request, response).catch((err) => {
    hq.log.error({ err }, 'a request failed')
    if (response.headersSent) response.destroy()
    else response.writeHead(500).end('{"error":"the request failed; the log has the reason"}')
  })
})
server.listen(Number(PORT), HOST, () => console.log(`http://localhost:${PORT} pushes jobs; the dashboard is at /jobs/`))

function stop(): void {
  server.close(() => void hq.close())
  // The dashboard's streams stay open for ever.
  setTimeout(() => server.closeAllConnections(), 2_000).unref()
}

let stopping = 0
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.on(signal, () => {
    if (stopping === 0) stop()
    // npm sends a Ctrl-C of the terminal a second time; a later one ends the process at once.
    else if (performance.now() - stopping > 500) process.exit(1)
    stopping ||= performance.now()
  })
}
