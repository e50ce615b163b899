import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { installPackages } from '../../scripts/install-packages.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const libraries = join(root, 'node_modules/.libraries')

/** Returns the folder of a package of this checkout, or of `test/libraries.json`. */
export function folderOf(name: string): string {
  const own = join(root, 'node_modules', name)
  if (existsSync(own)) return own
  installLibraries()
  return join(libraries, 'node_modules', name)
}

function installLibraries(): void {
  installPackages(join(root, 'test/libraries.json'), libraries)
  // Its dependents then use the checkout's copy, as after `npm i libsql`: two copies in one process would destroy a file.
  rmSync(join(libraries, 'node_modules/libsql'), { recursive: true, force: true })
}

/** A TypeScript project of a user, in a folder of its own: it has this checkout, its packages, and those of `test/libraries.json`. */
export class Project {
  readonly folder = mkdtempSync(join(tmpdir(), 'highkiq-project-'))

  constructor() {
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }))
    installLibraries()
    const packages = join(this.folder, 'node_modules')
    mkdirSync(packages)
    symlinkSync(root, join(packages, 'highkiq'))
    for (const from of [root, libraries]) {
      for (const name of readdirSync(join(from, 'node_modules'))) {
        const to = join(packages, name)
        if (!name.startsWith('.') && !readdirSync(packages).includes(name))
          symlinkSync(join(from, 'node_modules', name), to)
      }
    }
    this.write('package.json', '{ "type": "module" }')
    const compilerOptions = {
      ...{ strict: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true },
      ...{ target: 'esnext', module: 'nodenext' },
    }
    this.write('tsconfig.json', JSON.stringify({ compilerOptions }))
  }

  write(file: string, text: string): void {
    mkdirSync(join(this.folder, dirname(file)), { recursive: true })
    writeFileSync(join(this.folder, file), text)
  }

  /** Returns what the compiler of a package reports. */
  compile(compiler = 'typescript', flags: string[] = []): string {
    const tsc = join(this.folder, 'node_modules', compiler, 'bin', 'tsc')
    const args = [tsc, '--pretty', 'false', ...flags]
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: this.folder, encoding: 'utf8' })
    return `${stdout}${stderr}`
  }
}
