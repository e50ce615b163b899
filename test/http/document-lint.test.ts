import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { folderOf } from '../docs/project.ts'
import { apiDocument } from './api.ts'

interface Report {
  totals: { errors: number; warnings: number }
  problems: { ruleId: string; message: string; location: { pointer?: string }[] }[]
}

/** Lints a document with Redocly's recommended rules. */
function lint(document: object): Report {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-lint-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document))
  const cli = join(folderOf('@redocly/cli'), 'bin/cli.js')
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [cli, 'lint', 'openapi.json', '--extends=recommended', '--format=json', '--max-problems=1000'],
    {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 1e8,
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  )
  if (!stdout.startsWith('{')) throw new Error(`redocly printed no report: ${stdout}${stderr}`)
  return JSON.parse(stdout)
}

test('Redocly finds nothing to warn about in the document', { timeout: 300_000 }, async () => {
  const { document } = await apiDocument()
  const { problems, totals } = lint(document)
  expect(problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)).toEqual([])
  expect(totals).toMatchObject({ errors: 0, warnings: 0 })

  // The same rules find what is missing.
  const broken = structuredClone(document)
  const operation = broken.paths['/api/v1/jobs']?.post as { operationId?: string; responses: object }
  delete operation.operationId
  operation.responses = { 201: { description: 'Stored' } }
  const found = lint(broken).problems.map(({ ruleId }) => ruleId)
  expect(found).toEqual(expect.arrayContaining(['operation-operationId', 'operation-4xx-response']))
})
