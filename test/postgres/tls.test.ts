import { chownSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bench, Collector } from '../engine/bench.ts'
import { makeCertificate, openssl } from '../programs/openssl.ts'
import { suiteWith } from '../programs/suite.ts'
import { postgres } from './program.ts'
import { startPostgres } from './server.ts'

suiteWith([postgres, openssl], 'PostgreSQL over TLS', () => {
  test('all connections of a worker are encrypted, and a server without a known certificate is refused', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-tls-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const { key, certificate } = makeCertificate(folder)
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    // The server reads its key as its own user only.
    const { uid, gid } = statSync(server.folder)
    for (const path of [folder, key, certificate]) chownSync(path, uid, gid)
    await server.query(`ALTER SYSTEM SET ssl_cert_file = '${certificate}'`)
    await server.query(`ALTER SYSTEM SET ssl_key_file = '${key}'`)
    await server.query('ALTER SYSTEM SET ssl = on')
    await server.query('SELECT pg_reload_conf()')
    const t = bench({ url: server.url(`?sslmode=verify-full&sslrootcert=${certificate}`) })
    const ran = new Collector<number>()
    const job = t.hq.job('Do', (_ctx, n: number) => ran.add(n))
    const worker = await t.work({ leaseSeconds: 1 })
    await job.performAsync(1)
    expect(await ran.atLeast(1)).toEqual([1])
    const connections = await server.query(
      "SELECT ssl, query FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name LIKE 'highkiq%'",
    )
    expect(connections.length).toBeGreaterThan(2)
    expect(connections.filter(({ ssl }) => ssl !== true)).toEqual([])
    await worker.stop()
    for (const mode of ['verify-full', 'require']) {
      const stranger = bench({ url: server.url(`?sslmode=${mode}`) })
      await expect(stranger.hq.push({ class: 'Do', args: [2] }), mode).rejects.toMatchObject({
        maybePushed: false,
        message: expect.stringMatching(/self-signed certificate/),
      })
    }
  })
})
