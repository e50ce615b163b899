/** Names of library options in messages, and the flags of the command line for them. */
export const FLAG_NAMES: readonly (readonly [option: string | RegExp, flag: string])[] = [
  ['or set allowDuplicate: true', 'or add --allow-duplicate'],
  ['say encoding: ', 'say --encoding '],
  ['say headerRow: ', 'say --header-row '],
  ['name another one with sheet', 'name another one with --sheet'],
  ['leave it out (columns: ', 'leave it out (--columns '],
  ['headerRow is the row', '--header-row is the row'],
  ['allow more with maxRows', 'allow more with --max-rows'],
  ["needs keepArgs: 'all' when the task is made", 'needs one that was imported with --keep-args all'],
  ['or download with wait', 'or download with --wait'],
  ['ask for the rest with partial', 'ask for the rest with --partial'],
  ['define it with its validate, or name that (as: { validate })', 'load its file with -r'],
  [/push { id, payload } with hq\.ordered\('(.+)'\)\.performAsync/, 'highkiq ordered push $1 ID [PAYLOAD]'],
  ['the option format says', '--format says'],
  ['name a folder in the option artifacts', 'set TMPDIR to a folder with room'],
]

export function withFlagNames(message: string): string {
  const text = FLAG_NAMES.reduce((told, [option, flag]) => told.replace(option, flag), message)
  return text.replace(/(?<=--columns )\{.*\}(?= takes only )/, inPairs)
}

/** Rewrites an object of columns as `--columns` takes it: 'Item no=sku,Unit price=price', quoted for a shell. */
function inPairs(json: string): string {
  const pairs = Object.entries(JSON.parse(json) as Record<string, string>)
  const list = pairs.map((pair) => pair.map((name) => name.replace(/[,=\\]/g, '\\$&')).join('=')).join(',')
  return `'${list.replaceAll("'", "'\\''")}'`
}
