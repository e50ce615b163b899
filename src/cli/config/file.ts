/** Reads a configuration file: a sidekiq.yml, or a highkiq.yml with the same keys. */

import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import { type Document, isMap, isScalar, Lexer, LineCounter, parseDocument, type ScalarTag } from 'yaml'
import { isObject } from '../../job/json.ts'
import { meantBy } from '../../job/options.ts'
import { CliError } from '../usage.ts'
import { ErbError, expandErb } from './erb.ts'
import { NAMES, SETTINGS, type SettingName, type Settings } from './settings.ts'

export interface ConfigFile {
  path: string
  settings: Settings
  /** Keys that belong to the app. */
  custom: Record<string, unknown>
  /** Warnings about keys that have no effect here, with the reason. */
  notes: string[]
}

/** Keys of Sidekiq and its gems that have no effect here, with the reason. */
export const KEYS_WITHOUT_EFFECT: Record<string, string> = {
  poll_interval_average: 'due jobs are enqueued on time with any number of processes',
  average_scheduled_poll_interval: 'due jobs are enqueued on time with any number of processes',
  health_check: 'highkiq has no health check port',
  logfile: 'use --log-file; the default is standard error',
  pidfile: 'highkiq writes no pid file',
  daemon: 'run it in the background with systemd or a similar tool',
  schedule: 'the Ruby process enqueues its own schedule',
  scheduler: 'the Ruby process enqueues its own schedule',
}
/** Sidekiq derives the order of queues from their weights, too, so this key changes nothing. */
const IGNORED = ['strict']

/**
 * `environment` chooses the section that overrides the rest. Default: the file's own `environment`, else development.
 * @throws CliError (exit code 2) with file and line
 */
export function readConfig(
  path: string,
  environment: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): ConfigFile {
  const { document, lineOf, repeatedIn } = parse(path, expand(path, env))
  const whole = contentOf(path, document) ?? {}
  if (!isObject(whole)) throw new CliError(`${path} must contain keys and values, such as "concurrency: 10"`, 2)
  const name = environment ?? (typeof whole.environment === 'string' ? whole.environment : 'development')
  const section = isObject(whole[name]) ? whole[name] : {}
  const merged = { ...whole, ...section }
  if (section === whole[name]) delete merged[name]
  const repeated = [document.contents, document.get(name, true)].flatMap(repeatedIn)
  const file: ConfigFile = { path, settings: {}, custom: {}, notes: repeated }
  for (const [key, value] of Object.entries(merged)) {
    if (IGNORED.includes(key) || value === null || value === undefined) continue
    const setting = SETTING_OF.get(key)
    if (setting) {
      const line = lineOf(key in section ? [name, key] : [key])
      Object.assign(file.settings, { [setting]: read(setting, value, `${path}${line}: ${key}`) })
      continue
    }
    Object.defineProperty(file.custom, key, { value, writable: true, enumerable: true, configurable: true })
    const why = Object.hasOwn(KEYS_WITHOUT_EFFECT, key) ? KEYS_WITHOUT_EFFECT[key] : undefined
    const meant = why ? undefined : meantBy(key, SETTING_OF.keys())
    if (meant) file.notes.push(`${key} is unknown; did you mean ${meant}? The app finds it in hq.settings`)
    if (why) file.notes.push(`${key}: ${why}`)
  }
  return file
}

function contentOf(path: string, document: Document): unknown {
  let content: unknown
  try {
    content = document.toJS()
  } catch (thrown) {
    // The YAML has an undefined alias, or too many aliases.
    throw new CliError(`${path}: ${(thrown as Error).message}`, 2)
  }
  try {
    JSON.stringify(content)
    return content
  } catch {
    throw new CliError(`${path}: an alias (*name) refers to the value that contains it`, 2)
  }
}

const SETTING_OF = new Map(
  NAMES.flatMap((name): [string, SettingName][] => {
    const { key } = SETTINGS[name]
    return key === undefined ? [] : [[key, name]]
  }),
)

function read(name: SettingName, value: unknown, where: string): unknown {
  const setting = SETTINGS[name]
  try {
    return (setting.readKey ?? setting.read)(value)
  } catch (thrown) {
    if (thrown instanceof InvalidArgumentError) throw new CliError(`${where}: ${withValue(thrown.message, value)}`, 2)
    throw thrown
  }
}

/** Says what the file has, unless the message does. A section is not shown, because it may have secrets. */
function withValue(message: string, value: unknown): string {
  return message.includes('(got ') || (typeof value === 'object' && value !== null)
    ? message
    : `${message.replace(/\.$/, '')} (got ${JSON.stringify(value)})`
}

function expand(path: string, env: Readonly<Record<string, string | undefined>>): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (thrown) {
    throw new CliError(`${path} can't be read: ${(thrown as Error).message}`, 2)
  }
  try {
    return expandErb(text, env)
  } catch (thrown) {
    if (thrown instanceof ErbError) throw new CliError(`${path}:${thrown.line}: ${thrown.tag}: ${thrown.message}`, 2)
    throw thrown
  }
}

/** Reads Ruby symbols (`:concurrency`, `:"a b"`) as strings, in keys and values. */
const symbol: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  test: /^:(?:[A-Za-z_][\w-]*[?!]?|"[^"]*"|'[^']*')$/,
  resolve: (text) => text.slice(1).replace(/^(["'])(.*)\1$/, '$2'),
}

/** Reads `.`, `y` and `n` as strings, as Ruby does: `require: .`, or a queue named `n`. */
const plainText: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  test: /^(?:[-+]?\.|[yYnN])$/,
  resolve: (found) => found,
}

/** With thousands of levels the parser overflows the stack, which may end the process. */
const MOST_LEVELS = 200

function isTooDeep(text: string): boolean {
  let levels = 0
  /** The levels that begin on the line: `- - -`. */
  let ofLine = 0
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') levels++
    else if (token === ']' || token === '}') levels--
    else if (token === '-' || token === '?') ofLine++
    else if (token === '\n') ofLine = 0
    if (levels + ofLine > MOST_LEVELS) return true
  }
  return false
}

interface Parsed {
  document: Document.Parsed
  lineOf: (key: string[]) => string
  /** Returns a warning for each key that a map has twice. */
  repeatedIn: (node: unknown) => string[]
}

function parse(path: string, text: string): Parsed {
  if (isTooDeep(text)) throw new CliError(`${path} has more than ${MOST_LEVELS} lists or maps inside of each other`, 2)
  const lines = new LineCounter()
  // Ruby reads YAML 1.1 with `<<`, and the last of two equal keys counts.
  const document = parseDocument(text, {
    version: '1.1',
    merge: true,
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter: lines,
    customTags: (tags) => [symbol, plainText, ...tags],
  })
  const at = (offset: number) => `:${lines.linePos(offset).line}`
  // The parser only warns of unknown tags (!ruby/object). Their values are lost, so they are errors here.
  const [problem] = [...document.errors, ...document.warnings]
  if (problem) throw new CliError(`${path}${at(problem.pos[0])}: ${problem.message}`, 2)
  const lineOf = (key: string[]) => {
    const node = document.getIn(key, true) as { range?: [number, number, number] } | undefined
    return node?.range ? at(node.range[0]) : ''
  }
  const repeatedIn = (node: unknown) => {
    const linesOf = new Map<string, number[]>()
    for (const { key } of isMap(node) ? node.items : []) {
      if (!isScalar(key) || !key.range || key.value === '<<') continue
      const name = String(key.value)
      linesOf.set(name, [...(linesOf.get(name) ?? []), lines.linePos(key.range[0]).line])
    }
    return [...linesOf].flatMap(([name, at]) =>
      at.length > 1 ? [`${name} is set in lines ${at.join(' and ')}: the last one counts`] : [],
    )
  }
  return { document, lineOf, repeatedIn }
}
