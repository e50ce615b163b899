import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Example } from './example.ts'
import { build, FILES, headers, importFile, install, pushPrice, start } from './next.ts'
import { written } from './packed.ts'

test.each([['Turbopack'], ['webpack', '--webpack']])(
  'an app that %s has bundled with Highkiq pushes, imports, runs jobs and shows the dashboard',
  { timeout: 900_000 },
  async (_, ...flags) => {
    const { folder } = new Example('docs/nextjs.md', FILES.slice(1), install)
    build(folder, ...flags)
    const { url, next } = await start(folder, 'start')
    const saved = written(next, /"sku":"A-1"/)
    expect((await pushPrice(url, 'A-1')).status).toBe(202)
    await saved
    await importFile(url)
    const dashboard = await fetch(`${url}/jobs/`, { headers: { ...headers, accept: 'text/html' } })
    expect([dashboard.status, await dashboard.text()]).toEqual([200, expect.stringContaining('<html')])
    next.kill('SIGTERM')
    await once(next, 'exit')

    // A bundle alone can push; a job that waits has a key, although another bundle may have made the app.
    renameSync(join(folder, 'node_modules/highkiq'), join(folder, 'node_modules/moved'))
    const { url: alone } = await start(folder, 'start', { WORKER: '' })
    const { jid } = (await (await pushPrice(alone, 'A-2')).json()) as { jid: string }
    const found = await (await fetch(`${alone}/jobs/api/v1/jobs?state=queued`, { headers })).json()
    expect(found).toMatchObject({ items: [{ jid, key: expect.stringContaining('~') }] })
    const refused = await fetch(`${alone}/jobs/`, { headers: { ...headers, accept: 'text/html' } })
    expect([refused.status, await refused.text()]).toEqual([500, expect.stringContaining('serverExternalPackages')])
  },
)
