/** The scripts of `highkiq completion`, in the shells themselves. */

import { execFileSync } from 'node:child_process'
import { describe, expect } from 'vitest'
import { suiteWith } from '../programs/suite.ts'
import { type Folder, test } from './command.ts'
import { runHere } from './in-process.ts'
import { fish, zsh } from './program.ts'

async function written(folder: Folder, shell: string): Promise<string> {
  const { stdout } = await runHere(['completion', shell])
  folder.write({ script: stdout, 'products.csv': 'sku\n1\n' })
  return folder.at('script')
}

test('an unknown shell is refused with the known ones', async () => {
  const { code, stderr } = await runHere(['completion', 'tcsh'])
  expect(stderr).toMatch(/tcsh.*bash, zsh, fish/)
  expect(code).toBe(2)
})

describe('in bash', () => {
  /** Returns what bash offers behind these words; the last one is that of the cursor. */
  function offered(script: string, ...words: string[]): string[] {
    const code = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _highkiq; printf '%s\\n' "\${COMPREPLY[@]}"`
    const text = execFileSync('bash', ['--norc', '-c', code, script, 'highkiq', ...words], { encoding: 'utf8' })
    return text.split('\n').filter((line) => line !== '')
  }

  test('commands, subcommands, options and values are completed', async ({ folder }) => {
    const script = await written(folder, 'bash')
    expect(offered(script, 'tas')).toEqual(['tasks', 'task'])
    expect(offered(script, 'task', 'l')).toEqual(['list'])
    expect(offered(script, 'task', 'list', '--st')).toEqual(['--state'])
    expect(offered(script, 'task', 'list', '--state', 'pau')).toEqual(['paused'])
    expect(offered(script, 'task', 'list', '--state', 'paused', '--js')).toEqual(['--json'])
    expect(offered(script, '--url', 'sqlite:x.db', 'do')).toEqual(['doctor'])
    expect(offered(script, 'completion', '')).toEqual(['bash', 'zsh', 'fish'])
    // Nothing here: bash then completes files.
    expect(offered(script, 'import', 'prod')).toEqual([])
  })

  test('every command with its options is in the script', async () => {
    const { stdout: help } = await runHere(['--help'])
    const { stdout: script } = await runHere(['completion', 'bash'])
    const names = [...help.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name)
    expect(names.length).toBeGreaterThan(30)
    for (const name of names.filter((name) => name !== 'help' && name !== 'highkiq')) {
      expect(script).toContain(`\n    ' ${name}') commands=`)
    }
  })
})

suiteWith([zsh], 'in zsh', () => {
  test('commands, options and values are completed with Tab', { timeout: 180_000 }, async ({ folder }) => {
    const script = await written(folder, 'zsh')
    const keys = 'highkiq task li\\t--stat\\tint\\t\\n'
    // A terminal with a zsh in it, and the keys that a person would press.
    const code = `zmodload zsh/zpty
      zpty inner zsh -f -i
      zpty -w inner 'cd ${folder.path}; autoload -Uz compinit; compinit -u -D; highkiq() { print -r -- "got[$*]" }; source ${script}; print beg''un'
      zpty -r inner text '*begun*'
      zpty -n -w inner $'${keys}'
      zpty -r inner text '*got\\[*\\]*'
      print -r -- "$text"
      zpty -d inner`
    const text = execFileSync('zsh', ['-f', '-c', code], { encoding: 'utf8', timeout: 90_000 })
    expect(text).toContain('got[task list --state interrupted]')
  })
})

suiteWith([fish], 'in fish', () => {
  test('commands, options and values are completed with their descriptions', { timeout: 180_000 }, async ({
    folder,
  }) => {
    const script = await written(folder, 'fish')
    const offered = (line: string) =>
      execFileSync('fish', ['--no-config', '-c', `source ${script}; complete -C ${JSON.stringify(line)}`], {
        encoding: 'utf8',
        cwd: folder.path,
        env: { ...process.env, HOME: folder.path },
      })
    expect(offered('highkiq doc')).toMatch(/^doctor\texamine the store/)
    expect(offered('highkiq task li')).toMatch(/^list\t.*\n$/)
    expect(offered('highkiq task list --sta')).toMatch(/^--state\t/)
    expect(offered('highkiq task list --state pau')).toMatch(/^paused\b/)
    expect(offered('highkiq import prod')).toMatch(/^products\.csv/)
  })
})
