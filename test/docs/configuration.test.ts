import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { KEYS_WITHOUT_EFFECT } from '../../src/cli/config/file.ts'
import { NAMES, SETTINGS, type Setting } from '../../src/cli/config/settings.ts'
import { VARIABLES } from '../../src/environment.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = readFileSync(`${root}docs/configuration.md`, 'utf8')

/** The rows of a table of the page. */
function rowsOf(name: string): string[] {
  const table = new RegExp(`<!-- ${name} -->\\n(.*?)\\n<!-- end -->`, 's').exec(page)?.[1]
  return table?.split('\n').slice(2) ?? []
}

const code = (text: string | undefined) => (text ? `\`${text.replaceAll('|', '\\|')}\`` : '')

test('the page shows every option with its flag, variable, key and default', () => {
  const rows = NAMES.map((name) => {
    const { about, flags, variable, key, usual }: Setting = SETTINGS[name]
    return `| ${about} | ${code(flags)} | ${code(variable)} | ${code(key)} | ${usual} |`
  })
  expect(rowsOf('options').join('\n')).toBe(rows.join('\n'))
})

test('the page shows every variable', () => {
  const rows = Object.entries(VARIABLES).map(([name, about]) => `| \`${name}\` | ${about} |`)
  expect(rowsOf('variables').join('\n')).toBe(rows.join('\n'))
})

test('the page names the keys without effect', () => {
  expect(page).toContain(`${Object.keys(KEYS_WITHOUT_EFFECT).map(code).join(', ')}.`)
})

/** Variables of the terminal and of npm, and members that Hono keeps in an object of the same name. */
const NOT_OURS = ['TERM', 'npm_lifecycle_event', 'incoming', 'outgoing']

test('the source reads no other variable', () => {
  const known = new Set([
    ...Object.keys(VARIABLES),
    ...NAMES.map((name) => (SETTINGS[name] as Setting).variable),
    ...NOT_OURS,
  ])
  const files = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!\.test)\.ts$/.test(file),
  )
  const read = files.flatMap((file) => {
    const text = readFileSync(`${root}src/${file}`, 'utf8')
    return [...text.matchAll(/\benv\.([A-Za-z_]+)/g)].map(([, name]) => name as string)
  })
  expect(read.length).toBeGreaterThan(5)
  expect(read.filter((name) => !known.has(name))).toEqual([])
})
