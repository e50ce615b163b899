/** The pages with code for users, and their blocks. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Block {
  page: string
  /** The line of the page on which the code begins. */
  line: number
  /** The heading above it. */
  heading: string
  code: string
  /** The name of the file, if the page gives it, for example `jobs.ts`: */
  file: string | undefined
}

export const pages = [
  'README.md',
  'create-highkiq/README.md',
  ...readdirSync(join(root, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
  'examples/README.md',
  ...readdirSync(join(root, 'examples'), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [`examples/${entry.name}/README.md`] : [],
  ),
]

/** The tests of these pages compile and run them, with the framework. */
export const OF_FRAMEWORKS = [
  'docs/nestjs.md',
  'docs/nextjs.md',
  'docs/prisma.md',
  'docs/sveltekit.md',
  'docs/transactions.md',
]

/** The blocks of a page in this language. */
export function blocksOf(page: string, language: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8')
  const fences = text.matchAll(/(?:`([^`\n]+\.(?:tsx?|c?js|rb|csv))`:\n\n)?^( *)```(\w*)\n(.*?)^ *```$/gms)
  return [...fences].flatMap(({ 0: all, 1: file, 2: indent = '', 3: name, 4: code = '', index }) => {
    if (name !== language) return []
    const above = text.slice(0, index + all.indexOf('```'))
    // The code begins on the line after the opening fence.
    const line = above.split('\n').length + 1
    const heading = [...above.matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? ''
    return [{ page, line, heading, code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''), file }]
  })
}
