import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { register } from '../../src/cli/commands/ordered.ts'
import { Example } from './example.ts'

const page = readFileSync(fileURLToPath(new URL('../../docs/ordered.md', import.meta.url)), 'utf8')

test("the page's example does what it says", () => {
  expect(new Example('docs/ordered.md', ['replicate.ts']).run('replicate.ts')).toBe('7: 1, 2\n')
})

test.each(['ordered', 'cli'])('every command of ordered queues is named in docs/%s.md', (name) => {
  const text = readFileSync(fileURLToPath(new URL(`../../docs/${name}.md`, import.meta.url)), 'utf8')
  const rows = (text.match(/^\| `highkiq ordered .*$/gm) ?? []).join('\n')
  const program = new Command()
  register(program)
  const commands = program.commands[0]?.commands.map((command) => command.name()) ?? []
  expect(commands).toContain('reshard')
  expect(commands.filter((command) => !new RegExp(`\\b${command}\\b`).test(rows))).toEqual([])
})

test('the table of days follows from the formula, in whole days, with the mean random delay', () => {
  const [, table = ''] = /\| `maxRetries` \| days \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(page) ?? []
  const rows = [...table.matchAll(/^\| (\d+) \| (\d+) \|$/gm)].map(([, retries, days]) => [
    Number(retries),
    Number(days),
  ])
  expect(rows.map(([retries]) => retries)).toEqual([14, 16, 18, 19, 20, 21, 22, 23, 24, 25])
  const middle = (30 - 1) / 2
  for (const [retries = 0, days] of rows) {
    let seconds = 0
    for (let n = 0; n < retries; n++) seconds += n ** 4 + 15 + middle * (n + 1)
    expect(Math.floor(seconds / 86_400), `${retries} retries`).toBe(days)
  }
})
