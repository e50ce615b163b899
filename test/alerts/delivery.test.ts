import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import type { AlertOptions } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { test as inFolder } from '../cli/command.ts'
import { folderOf } from '../docs/project.ts'
import { bench, Collector } from '../engine/bench.ts'
import { receiver } from './receivers.ts'

interface Mail {
  from: string
  to: string[]
  text: string
}

/** The part of smtp-server that is used. */
interface SmtpServer {
  listen(port: number, host: string, done: () => void): { address(): AddressInfo }
  close(): void
  on(event: 'error', handler: () => void): void
}

/** A mail server that knows one user. */
async function mailServer(options: object = {}) {
  const got = new Collector<Mail>()
  const { SMTPServer } = createRequire(import.meta.url)(folderOf('smtp-server')) as {
    SMTPServer: new (options: object) => SmtpServer
  }
  const server = new SMTPServer({
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth(
      auth: { username: string; password: string },
      _: unknown,
      done: (error: Error | null, user?: object) => void,
    ) {
      if (auth.username === 'ann' && auth.password === 'se:cret') done(null, { user: 'ann' })
      else done(new Error(`${auth.username} may not use ${auth.password}`))
    },
    onRcptTo({ address }: { address: string }, _: unknown, done: (error?: Error) => void) {
      if (address.startsWith('nobody@')) done(Object.assign(new Error('no such user'), { responseCode: 550 }))
      else done()
    },
    ...options,
    async onData(
      stream: AsyncIterable<Buffer>,
      { envelope }: { envelope: { mailFrom: { address: string }; rcptTo: { address: string }[] } },
      done: () => void,
    ) {
      const chunks: Buffer[] = []
      for await (const chunk of stream) chunks.push(chunk)
      got.add({
        from: envelope.mailFrom.address,
        to: envelope.rcptTo.map(({ address }) => address),
        text: Buffer.concat(chunks).toString(),
      })
      done()
    },
  })
  server.on('error', () => {})
  let address: AddressInfo | undefined
  await new Promise<void>((resolve) => {
    const listening = server.listen(0, '127.0.0.1', () => {
      address = listening.address()
      resolve()
    })
  })
  onTestFinished(() => server.close())
  return { got, host: `127.0.0.1:${address?.port}` }
}

const app = (alerts: AlertOptions) =>
  `import { Highkiq } from 'highkiq'\nexport const hq = new Highkiq({ alerts: ${JSON.stringify(alerts)} })\n`

inFolder(
  'highkiq alerts test mails through SMTP with nodemailer of the app, and shows no password',
  async ({ folder }) => {
    const { got, host } = await mailServer()
    const mail = { email: ['ops@shop.example', 'dev@shop.example'], from: 'Jobs <jobs@shop.example>' }
    folder.write({
      'jobs.mjs': app({ to: [{ ...mail, smtp: `smtp://ann:se%3Acret@${host}` }], app: 'shop' }),
      'wrong.mjs': app({ to: [{ ...mail, smtp: `smtp://ann:wr0ng-secret@${host}` }] }),
    })
    const without = await folder.run(['alerts', 'test', '-r', 'jobs.mjs'])
    expect(without.stdout).toMatch(
      /email ops@shop\.example, dev@shop\.example +.*e-mails need the package nodemailer: npm i nodemailer/,
    )
    expect(without.code).toBe(1)
    symlinkSync(folderOf('nodemailer'), folder.at('node_modules/nodemailer'))
    const { code, stdout } = await folder.run(['alerts', 'test', '-r', 'jobs.mjs'])
    expect(stdout).toMatch(/sent in /)
    expect(code).toBe(0)
    expect(got.all).toHaveLength(1)
    expect(got.all[0]).toMatchObject({ from: 'jobs@shop.example', to: ['ops@shop.example', 'dev@shop.example'] })
    expect(got.all[0]?.text).toMatch(/^Subject: \[shop\] Test message\r$/m)
    expect(got.all[0]?.text).toMatch(/^Message-ID: <[0-9a-f]{32}\.highkiq@shop\.example>\r$/m)
    expect(got.all[0]?.text).toContain('Alerts of shop will arrive here.')
    const wrong = await folder.run(['alerts', 'test', '-r', 'wrong.mjs', '--json'])
    expect(wrong.code).toBe(1)
    expect(JSON.parse(wrong.stdout)).toMatchObject([
      { error: expect.stringMatching(/the server refused the user or the password \(535\)$/) },
    ])
    expect(wrong.stdout + wrong.stderr).not.toContain('secret')
  },
)

inFolder(
  'a failed mail names the certificate, TLS, the address or the connection, and no password',
  async ({ folder }) => {
    const { host: plain } = await mailServer()
    // Its own certificate has expired.
    const { host: tls } = await mailServer({ secure: true })
    const { host: starttls } = await mailServer({ disabledCommands: [] })
    const closed = await closedPort()
    const mail = { email: 'ops@shop.example', from: 'jobs@shop.example' }
    const to = [
      { ...mail, smtp: `smtps://ann:se%3Acret@${tls}` },
      { ...mail, smtp: `smtp://ann:se%3Acret@${starttls}` },
      { ...mail, smtp: `smtps://ann:se%3Acret@${plain}` },
      { ...mail, smtp: `smtp://ann:se%3Acret@${plain}`, email: 'nobody@shop.example' },
      { ...mail, smtp: `smtp://ann:se%3Acret@${closed}` },
    ]
    folder.write({ 'jobs.mjs': app({ to }) })
    symlinkSync(folderOf('nodemailer'), folder.at('node_modules/nodemailer'))
    const { stdout, stderr } = await folder.run(['alerts', 'test', '-r', 'jobs.mjs', '--json'])
    expect(JSON.parse(stdout).map(({ error }: { error: string }) => error)).toEqual([
      'its certificate is not accepted',
      'its certificate is not accepted',
      'it does not begin with TLS: use smtp:// in place of smtps://',
      'the server refused an address (550)',
      "it can't be reached (ECONNREFUSED)",
    ])
    expect(stdout + stderr).not.toMatch(/se(%3A|:)cret/)
  },
)

test('Slack gets text and blocks in which no name is a link or a mention', async () => {
  const { url, got } = await receiver()
  const t = bench({
    alerts: { to: [{ slack: url }], after: 0, every: 1, timeZone: 'Europe/Berlin' },
    publicUrl: 'https://shop.example/jobs',
  })
  await t.work()
  await t.hq.push({ class: 'A', args: [], queue: '<!channel>@everyone&co' })
  const [{ body } = { body: undefined }] = await got.atLeast(1)
  const { text, blocks } = body as unknown as {
    text: string
    blocks: { type: string; text: { type: string; text: string } }[]
  }
  expect(text).toMatch(
    /^\*\[highkiq\] 1 problem: No process serves queue &lt;!channel&gt;@\u200beveryone&amp;co\*\n\n● /,
  )
  expect(text).toMatch(
    /Since \d+ \w+, \d\d:\d\d (CET|CEST|GMT\+[12])\nhttps:\/\/shop\.example\/jobs\/queues\/%3C!channel%3E%40everyone%26co/,
  )
  expect(blocks.map(({ type, text: { type: format } }) => [type, format])).toEqual([
    ['section', 'mrkdwn'],
    ['section', 'mrkdwn'],
  ])
})

test.each([
  ['a host that nothing listens on', closedPort, /^it can't be reached \(ECONNREFUSED\)$/],
  ['an unknown host', async () => 'secret.invalid', /^it can't be reached \((ENOTFOUND|EAI_AGAIN)\)$/],
])('a test of %s says why it failed, without the path', async (_, host, error) => {
  const t = bench({ alerts: { to: [{ webhook: `http://${await host()}/secret`, name: 'ops' }] } })
  const results = await t.hq.alerts.test()
  expect(results).toEqual([{ target: 'ops', error: expect.stringMatching(error), took: expect.any(Number) }])
  expect(JSON.stringify(results)).not.toContain('secret')
})

async function closedPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `127.0.0.1:${port}`
}

test('a test without targets says which option names them', async () => {
  await expect(bench().hq.alerts.test()).rejects.toThrow('there is no target: give new Highkiq the option alerts')
})
