/** The package as npm publishes it, and what the programs of its users print. */

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { installPackages } from '../../scripts/install-packages.js'
import { Example } from './example.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The project of a page: its files, the packed Highkiq, and the packages that the page installs. */
export class PackedProject {
  readonly folder: string
  readonly #page: string
  readonly #env: NodeJS.ProcessEnv

  constructor(page: string, files: readonly string[]) {
    this.#page = readFileSync(join(root, page), 'utf8')
    this.folder = new Example(page, files, installPacked).folder
    const { HIGHKIQ_URL: _, NODE_ENV: __, VITEST: ___, ...env } = process.env
    const path = `${join(this.folder, 'node_modules/.bin')}:${env.PATH}`
    this.#env = { ...env, PATH: path, NO_COLOR: '1', FORCE_COLOR: '' }
  }

  /** Runs a command of the page. */
  run(command: string): { status: number | null; stdout: string; stderr: string } {
    return spawnSync('sh', ['-c', this.#shown(command)], { cwd: this.folder, env: this.#env, encoding: 'utf8' })
  }

  /** Starts one that goes on running. */
  start(command: string, more = ''): ChildProcess {
    const child = spawn('sh', ['-c', `exec ${this.#shown(command)} ${more}`], { cwd: this.folder, env: this.#env })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8')
  }

  /** npx passes no signals on, and would ask the registry; the programs are in the PATH. */
  #shown(command: string): string {
    const lines = this.#page.split('\n').map((line) => line.replace(/ +#.*/, ''))
    if (!this.#page.includes(`\`${command}\``)) expect(lines).toContain(command)
    return command.replace(/^npx /, '')
  }
}

/** Unpacks the package into a folder of packages; the others are those of this checkout. */
export function installPacked(packages: string): void {
  const names = ['libsql', 'tsx', 'vitest', ...Object.keys(dependencies())]
  // A framework may have brought some of them.
  for (const name of names.filter((name) => !existsSync(join(packages, name)))) {
    mkdirSync(join(packages, name, '..'), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(packages, name))
  }
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', packages]
  const tarball = execFileSync('npm', args, { cwd: root, encoding: 'utf8' }).trim()
  mkdirSync(join(packages, 'highkiq'))
  execFileSync('tar', ['xzf', tarball, '--strip-components', '1', '-C', 'highkiq'], { cwd: packages })
  mkdirSync(join(packages, '.bin'))
  // As npm does when it installs a package.
  chmodSync(join(packages, 'highkiq/dist/cli/main.js'), 0o755)
  symlinkSync('../highkiq/dist/cli/main.js', join(packages, '.bin/highkiq'))
  symlinkSync('../tsx/dist/cli.mjs', join(packages, '.bin/tsx'))
  symlinkSync('../vitest/vitest.mjs', join(packages, '.bin/vitest'))
}

/** Copies packages of this checkout, and what they need. */
export function copyPackages(
  packages: string,
  names: readonly string[] = ['libsql', ...Object.keys(dependencies())],
): void {
  for (const name of names) {
    const from = join(root, 'node_modules', name)
    // Another platform has other optional packages.
    if (existsSync(join(packages, name)) || !existsSync(from)) continue
    cpSync(from, join(packages, name), { recursive: true })
    const needed = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
    copyPackages(packages, Object.keys({ ...needed.dependencies, ...needed.optionalDependencies }))
  }
}

/** Copies the packages of `test/frameworks.json`, or another list: Next follows no links out of the folder of an app. */
export function installFrameworks(packages: string, list = 'frameworks'): void {
  const folder = join(root, `node_modules/.${list}`)
  installPackages(join(root, `test/${list}.json`), folder)
  execFileSync('cp', ['-R', `${folder}/node_modules/.`, packages])
  rmSync(join(packages, '.bin'), { recursive: true, force: true })
}

function dependencies(): Record<string, string> {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).dependencies
}

/** Resolves to what the process has written, when that matches. */
export async function written(child: ChildProcess, pattern: RegExp): Promise<string> {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (bytes) => {
      text += bytes
    })
  }
  await expect.poll(() => text, { timeout: 50_000 }).toMatch(pattern)
  return text
}
