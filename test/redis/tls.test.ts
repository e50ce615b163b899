import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bench, Collector } from '../engine/bench.ts'
import { makeCertificate, openssl } from '../programs/openssl.ts'
import { suiteWith } from '../programs/suite.ts'
import { freePort } from './port.ts'
import { redis } from './program.ts'
import { startServer } from './server.ts'

suiteWith([redis, openssl], 'Redis over TLS', () => {
  test('jobs run with the certificate of the authority, and without it nothing is sent', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-tls-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const { key, certificate } = makeCertificate(folder)
    const port = await freePort()
    const server = await startServer({
      'tls-port': port,
      'tls-cert-file': certificate,
      'tls-key-file': key,
      'tls-ca-cert-file': certificate,
      'tls-auth-clients': 'no',
    })
    onTestFinished(() => server.remove())
    const url = `rediss://127.0.0.1:${port}`
    const t = bench({ url, redis: { tls: { ca: readFileSync(certificate) } } })
    const ran = new Collector<number>()
    const job = t.hq.job('Do', (_ctx, n: number) => ran.add(n))
    const worker = await t.work({ leaseSeconds: 1 })
    await job.performAsync(1)
    expect(await ran.atLeast(1)).toEqual([1])
    await t.settled()
    await worker.stop()
    const stranger = bench({ url, redisTimeout: 1 })
    await expect(stranger.hq.push({ class: 'Do', args: [2] })).rejects.toMatchObject({
      maybePushed: false,
      message: expect.stringMatching(/self-signed certificate/),
    })
  })
})
