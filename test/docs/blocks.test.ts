import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Block, blocksOf, OF_FRAMEWORKS, pages } from './blocks.ts'
import { Project } from './project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Languages of files that start Highkiq: units, Dockerfiles, Compose and Kubernetes; a Procfile has no name for its own. */
const OF_SUPERVISORS = ['ini', 'dockerfile', 'yaml', '']

/** The command of a line without its comment. A supervisor's file has a path to it, perhaps as a list of strings. */
function commandIn(text: string, language: string): string {
  const line = text.replace(/ #.*/, '')
  if (language === 'sh') return line
  return /[^\s="]*\/highkiq .*/.exec(line.replaceAll(/[",[\]]+ ?/g, ' ').replaceAll(/ +/g, ' '))?.[0] ?? ''
}

test('every block of TypeScript and JavaScript in the docs is right under strict TypeScript', {
  timeout: 300_000,
}, () => {
  const project = new Project()
  project.write('shop.d.ts', readFileSync(join(root, 'test/docs/shop.d.ts'), 'utf8'))
  const blocks = pages
    .filter((page) => !OF_FRAMEWORKS.includes(page))
    .flatMap((page) =>
      ['ts', 'js'].flatMap((language) => blocksOf(page, language).map((block) => ({ ...block, language }))),
    )
  expect(blocks.length).toBeGreaterThan(30)
  const places = new Map<string, Block>()
  for (const block of blocks) {
    const file = join(block.page.replaceAll(/[/.]/g, '-'), block.file ?? `line-${block.line}.${block.language}`)
    places.set(file, block)
    // A file without imports and exports is not a module, so it could not await.
    project.write(file, file.endsWith('.cjs') ? block.code : `${block.code}\nexport {}\n`)
  }
  const wrong = project
    .compile('typescript', ['--allowJs', '--checkJs'])
    .replaceAll(/^(\S+?)\((\d+),/gm, (all, file, line) => {
      const block = places.get(file)
      return block ? `${block.page}:${block.line + Number(line) - 1} (` : all
    })
  expect(wrong).toBe('')
})

function ancestorsOf({ parent }: Command): Command[] {
  return parent ? [parent, ...ancestorsOf(parent)] : []
}

test('every highkiq command in the docs exists and knows its options', async () => {
  const folder = join(root, 'src/cli/commands')
  const program = new Command()
  for (const name of readdirSync(folder)) {
    const { register } = (await import(join(folder, name))) as { register?: (program: Command) => void }
    register?.(program)
  }
  const lines = pages.flatMap((page) =>
    ['sh', ...OF_SUPERVISORS].flatMap((language) =>
      blocksOf(page, language).flatMap(({ line, code }) =>
        code.split('\n').map((text, i) => ({ place: `${page}:${line + i}`, text: commandIn(text, language) })),
      ),
    ),
  )
  const wrong: string[] = []
  let count = 0
  for (const { place, text } of lines) {
    const call = /^(?:\w+=\S+ )*(?:npx |\S*\/)?highkiq ([a-z].*)/.exec(text)?.[1]
    if (call === undefined) continue
    count++
    let command: Command = program
    for (const word of call.split(/\s+/).filter((word) => word !== '')) {
      const inner = command.commands.find((one) => one.name() === word)
      if (inner) command = inner
      else if (command === program) wrong.push(`${place}: ${word} is no command`)
      const [flag = ''] = word.split('=')
      // A command also takes the options of the commands above it.
      const options = [command, ...ancestorsOf(command)]
        .flatMap((one) => one.options)
        .flatMap(({ short, long }) => [short, long])
      if (/^--?[a-z]/i.test(word) && !options.includes(flag)) wrong.push(`${place}: ${command.name()} has no ${flag}`)
    }
  }
  expect(count).toBeGreaterThan(70)
  expect(wrong).toEqual([])
})

test('every link of the docs leads to a file and a heading that exist; lines, cells and pages are short', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/check-docs.js'], { cwd: root, encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
})

test('every YAML block of the docs can be read', () => {
  const blocks = pages.flatMap((page) => blocksOf(page, 'yaml'))
  expect(blocks.length).toBeGreaterThan(3)
  for (const { page, line, code } of blocks) expect(parse(code), `${page}:${line}`).toBeInstanceOf(Object)
})
