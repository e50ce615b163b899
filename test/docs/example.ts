import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { folderOf } from './project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Files that a page shows, in a folder of their own where `import 'highkiq'` finds this checkout. */
export class Example {
  readonly folder = mkdtempSync(join(tmpdir(), 'highkiq-example-'))

  /** `packages`: those of this checkout or of `test/libraries.json` that the files import; or installs others into a folder. */
  constructor(page: string, files: readonly string[], packages: readonly string[] | ((folder: string) => void) = []) {
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }))
    const folder = join(this.folder, 'node_modules')
    mkdirSync(folder)
    if (typeof packages === 'function') packages(folder)
    else {
      symlinkSync(root, join(folder, 'highkiq'))
      for (const name of packages) symlinkSync(folderOf(name), join(folder, name))
    }
    writeFileSync(join(this.folder, 'package.json'), '{ "type": "module" }')
    for (const file of files) {
      mkdirSync(join(this.folder, dirname(file)), { recursive: true })
      writeFileSync(join(this.folder, file), blockOf(page, file))
    }
  }

  /** Returns what it prints. */
  run(file: string, env: NodeJS.ProcessEnv = {}): string {
    const tsx = join(root, 'node_modules', 'tsx', 'dist', 'loader.mjs')
    return execFileSync(process.execPath, ['--import', tsx, file], {
      cwd: this.folder,
      encoding: 'utf8',
      env: { ...process.env, HIGHKIQ_URL: '', HIGHKIQ_LOG_LEVEL: 'warn', ...env },
    })
  }
}

/** The page's block behind a line that ends with the file's name. */
function blockOf(page: string, file: string): string {
  const text = readFileSync(join(root, page), 'utf8')
  const name = file.replaceAll(/[.+[\]]/g, '\\$&')
  const block = new RegExp(`\`${name}\`:\\n\\n\`\`\`(?:tsx?|js|json|csv|prisma|svelte)\\n(.*?)\`\`\``, 's').exec(
    text,
  )?.[1]
  if (block === undefined) throw new Error(`${page} shows no ${file}`)
  return block
}
