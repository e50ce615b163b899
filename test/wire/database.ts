import { readFileSync } from 'node:fs'
import { ask } from '../redis/ask.ts'

/** The time at which the fixtures were "taken", in milliseconds. */
export const NOW = Date.UTC(2025, 1, 14, 8, 5, 30)

/** Fills a server with what a fixture says; see fixtures/README.md. */
export async function load(port: number, fixture: string): Promise<void> {
  const text = readFileSync(new URL(`fixtures/${fixture}.redis`, import.meta.url), 'utf8')
  const commands = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(partsOf)
  for (const [i, { type, parts: words }] of (await ask(port, ['FLUSHALL'], ...commands)).entries()) {
    if (type === '-') throw new Error(`${fixture}: ${words.join(' ')}: ${commands[i - 1]?.join(' ')}`)
  }
}

/** Words with spaces stand in single quotes, inside which nothing is special. */
function partsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}
