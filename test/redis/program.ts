import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of a Redis server (or a Valkey, which is one too) on this machine. */
export function findProgram(): string | undefined {
  return findInPath('redis-server') ?? findInPath('valkey-server')
}

export function findInPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
