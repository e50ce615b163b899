/** Messages of errors in the words of the HTTP API: where a message of the library names an option, a client needs its parameter. */

import { type HintTexts, messageFor } from '../../job/errors.ts'

export const PARAMETERS: HintTexts = {
  allowDuplicate: 'send it with allowDuplicate=1',
  encoding: (value) => `send encoding=${value}`,
  headerRow: (value) => (value === undefined ? 'headerRow is the row' : `send headerRow=${value}`),
  sheet: 'name another sheet with sheet',
  columns: (value) => `columns=${JSON.stringify(value)}`,
  maxRows: 'split it, for no more are taken here (limits)',
  keepArgs: 'needs keepArgs=all when the task is made',
  wait: 'ask with wait=1',
  partial: 'ask for the rest with partial=1',
  as: 'the server that takes the report must load its file (highkiq web -r FILE), or name that (imports)',
  ordered: (value) => `send { id, payload } to POST /api/v1/ordered/${value}`,
  format: 'the parameter format, or the type or name of the file,',
  unique: (name) => `name another job, for the app makes ${name} unique`,
  onConflict: 'use its jid',
  queue: (name) => `name queue ${name}`,
  bid: 'leave it out',
}

/** Returns the message of an error with the parameters of the HTTP API. */
export function messageWithParameters(thrown: unknown): string {
  return messageFor(thrown, PARAMETERS)
}
