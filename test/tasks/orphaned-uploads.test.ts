import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openSource } from '#dist/tasks/spreadsheet/source.js'
import { spooled } from '#dist/tasks/spreadsheet/spool.js'

test.skipIf(!existsSync('/proc/self/stat'))(
  'the copy of a killed process is removed with the next upload, that of a running one stays',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'orphaned-uploads-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const start = async () => {
      const child = fork(fileURLToPath(new URL('spooler.js', import.meta.url)), [folder], { silent: true })
      onTestFinished(() => void child.kill('SIGKILL'))
      await once(child.stdout as NodeJS.ReadableStream, 'data')
      return child
    }
    const killed = await start()
    const [ofKilled = ''] = readdirSync(folder)
    await start()
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    const ofRunning = readdirSync(folder).filter((name) => name !== ofKilled)
    const copy = await spooled(await openSource(Readable.from([Buffer.from('sku')])), folder)
    const names = readdirSync(folder)
    expect(names).toHaveLength(2)
    expect(names).toEqual(expect.arrayContaining(ofRunning))
    expect(names).not.toContain(ofKilled)
    await copy.close()
    expect(readdirSync(folder)).toEqual(ofRunning)
  },
)
