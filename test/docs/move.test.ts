import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Example } from './example.ts'

const root = new URL('../..', import.meta.url).pathname

test('the example of moving a store prints what its page says', { timeout: 180_000 }, () => {
  const example = new Example('docs/move.md', ['old.ts'])
  example.run('old.ts')
  const page = readFileSync(join(root, 'docs/move.md'), 'utf8')
  const lines = [...page.matchAll(/^npx highkiq (move .*) # (.*)$/gm)]
  expect(lines).toHaveLength(2)
  for (const [, command = '', says] of lines) {
    const args = [join(root, 'dist/cli/main.js'), ...command.split(' ')]
    const printed = execFileSync(process.execPath, args, { cwd: example.folder, encoding: 'utf8', stdio: 'pipe' })
    expect(printed).toBe(`${says}\n`)
  }
})
