/** A configuration file: Sidekiq's sidekiq.yml as it is, or one of our own with the same keys. */

import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import { type Document, LineCounter, parseDocument, type ScalarTag } from 'yaml'
import { meantBy } from '../../job/options.ts'
import { CliError } from '../usage.ts'
import { ErbError, expandErb } from './erb.ts'
import { isRecord, NAMES, SETTINGS, type SettingName, type Settings } from './settings.ts'

export interface ConfigFile {
  path: string
  settings: Settings
  /** Keys that are the app's own business. */
  custom: Record<string, unknown>
  /** What the file says and does not hold here, and why. */
  notes: string[]
}

/** Keys of Sidekiq and its gems that change nothing here. */
export const ELSEWHERE: Record<string, string> = {
  poll_interval_average: 'due jobs are moved when they are due, whatever the number of processes',
  average_scheduled_poll_interval: 'due jobs are moved when they are due, whatever the number of processes',
  health_check: 'there is no such port here',
  logfile: 'log to standard error, or say --log-file',
  pidfile: 'whoever starts the process knows its pid',
  daemon: 'let systemd or the like run it in the background',
  schedule: 'Ruby enqueues its own schedule',
  scheduler: 'Ruby enqueues its own schedule',
}
/** The order of queues follows from their weights, in Sidekiq too. */
const IGNORED = ['strict']

/**
 * `environment` chooses the section that is merged over the rest; undefined: the file's own, else development.
 * @throws CliError (exit code 2) with file and line
 */
export function readConfig(
  path: string,
  environment: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): ConfigFile {
  const { document, lineOf } = parse(path, expand(path, env))
  const whole = contentOf(path, document) ?? {}
  if (!isRecord(whole)) throw new CliError(`${path}: keys and values were expected, such as "concurrency: 10"`, 2)
  const name = environment ?? (typeof whole.environment === 'string' ? whole.environment : 'development')
  const section = isRecord(whole[name]) ? whole[name] : {}
  const merged = { ...whole, ...section }
  if (section === whole[name]) delete merged[name]
  const file: ConfigFile = { path, settings: {}, custom: {}, notes: [] }
  for (const [key, value] of Object.entries(merged)) {
    if (IGNORED.includes(key) || value === null || value === undefined) continue
    const setting = SETTING_OF[key]
    if (setting) {
      const line = lineOf(key in section ? [name, key] : [key])
      Object.assign(file.settings, { [setting]: read(setting, value, `${path}${line}: ${key}`) })
      continue
    }
    file.custom[key] = value
    const meant = key in ELSEWHERE ? undefined : meantBy(key, Object.keys(SETTING_OF))
    if (meant) file.notes.push(`${key}: is ${meant} meant? It is left to the app (hq.settings)`)
    if (ELSEWHERE[key]) file.notes.push(`${key}: ${ELSEWHERE[key]}`)
  }
  return file
}

function contentOf(path: string, document: Document): unknown {
  try {
    return document.toJS()
  } catch (thrown) {
    // An alias of nothing, or of far too much.
    throw new CliError(`${path}: ${(thrown as Error).message}`, 2)
  }
}

const SETTING_OF: Record<string, SettingName> = Object.fromEntries(
  NAMES.flatMap((name) => ('key' in SETTINGS[name] ? [[SETTINGS[name].key, name]] : [])),
)

function read(name: SettingName, value: unknown, where: string): unknown {
  const setting = SETTINGS[name]
  try {
    return ('readKey' in setting ? setting.readKey : setting.read)(value)
  } catch (thrown) {
    if (thrown instanceof InvalidArgumentError) throw new CliError(`${where}: ${thrown.message}`, 2)
    throw thrown
  }
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

/** Ruby's `:concurrency` and `:"a b"`, as keys and as values. */
const symbol: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  test: /^:(?:[A-Za-z_][\w-]*[?!]?|"[^"]*"|'[^']*')$/,
  resolve: (text) => text.slice(1).replace(/^(["'])(.*)\1$/, '$2'),
}

/** Texts in Ruby, and no number, yes or no: `require: .`, a section or a queue named `n`. */
const plainText: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  test: /^(?:[-+]?\.|[yYnN])$/,
  resolve: (found) => found,
}

function parse(path: string, text: string): { document: Document.Parsed; lineOf: (key: string[]) => string } {
  const lines = new LineCounter()
  // As Ruby reads it: YAML 1.1 with `<<`, and of two equal keys the last one counts.
  const document = parseDocument(text, {
    version: '1.1',
    merge: true,
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter: lines,
    customTags: (tags) => [symbol, plainText, ...tags],
  })
  const at = (offset: number) => `:${lines.linePos(offset).line}`
  // Tags that nobody knows (!ruby/object) are warnings there; what they stand for is lost, so here they are errors.
  const [problem] = [...document.errors, ...document.warnings]
  if (problem) throw new CliError(`${path}${at(problem.pos[0])}: ${problem.message}`, 2)
  const lineOf = (key: string[]) => {
    const node = document.getIn(key, true) as { range?: [number, number, number] } | undefined
    return node?.range ? at(node.range[0]) : ''
  }
  return { document, lineOf }
}
