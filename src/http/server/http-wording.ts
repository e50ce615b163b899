/** How messages of the library name an option, and how a client of the HTTP API sets it. */
export const HTTP_WORDING: readonly (readonly [option: string | RegExp, parameter: string])[] = [
  ['or set allowDuplicate: true', 'or send it with allowDuplicate=1'],
  ['say encoding: ', 'send encoding='],
  ['say headerRow: ', 'send headerRow='],
  ['leave it out (columns: ', 'leave it out (columns='],
  ['split it, or allow more with maxRows', 'split it, for no more are taken here (limits)'],
  ["needs keepArgs: 'all' when the task is made", 'needs keepArgs=all when the task is made'],
  ['or download with wait', 'or ask with wait=1'],
  ['ask for the rest with partial', 'ask for the rest with partial=1'],
  [
    'define it with its validate, or name that (as: { validate })',
    'the server that takes the report must load its file (highkiq web -r FILE), or name that (imports)',
  ],
  [/push { id, payload } with hq\.ordered\('(.+)'\)\.performAsync/, 'send { id, payload } to POST /api/v1/ordered/$1'],
  ['the option format says', 'the parameter format, or the type or name of the file, says'],
]

export function inHttpWording(message: string): string {
  return HTTP_WORDING.reduce((text, [option, parameter]) => text.replace(option, parameter), message)
}
