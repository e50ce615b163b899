import { HighkiqError } from './errors.ts'

export function taskExists(id: string): HighkiqError {
  const message = `the new store has a task ${id} already, perhaps because it is a copy of the old one: delete that task there, move to an empty store, or undo the move (--undo)`
  return new HighkiqError('STORE_UNUSABLE', message)
}
