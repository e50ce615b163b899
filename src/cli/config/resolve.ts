/** Merges the settings of `highkiq work`. Precedence: command line, variables, file. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { environmentName, variable } from '../../environment.ts'
import { io } from '../io.ts'
import { CliError } from '../usage.ts'
import type { ConfigFile } from './file.ts'
import { isFolder, isForNode } from './jobs-file.ts'
import { NAMES, SETTINGS, type Setting, type Settings } from './settings.ts'

/** The first of these that exists is read. */
const DEFAULT_PATHS = ['config/highkiq.yml', 'config/sidekiq.yml', 'config/sidekiq.yml.erb']

type Environment = Readonly<Record<string, string | undefined>>

export interface Resolved {
  /** The settings that were given. */
  settings: Settings
  environment: string
  file: ConfigFile | undefined
  /** Warnings about keys that have no effect here, with the reason. */
  notes: string[]
}

/** Adds every setting with a flag as an option of `command`. */
export function withSettings(command: Command): Command {
  for (const name of NAMES) {
    const setting: Setting = SETTINGS[name]
    if (!setting.flags) continue
    const { flags, about, usual } = setting
    const text = usual ? `${about} (default: ${usual})` : about
    const option = new Option(flags, flags.startsWith('--no-') ? `do not ${about}` : text)
    // Commander reads options without a value itself, also an option whose value is left out.
    if (option.required || option.optional) {
      option.argParser((text, before: unknown) => {
        const value = setting.read(text)
        // A flag that can be repeated collects its values.
        return setting.between && before ? [...(before as unknown[]), ...(value as unknown[])] : value
      })
    }
    command.addOption(option)
  }
  return command
}

/** @throws CliError (exit code 2) that names the variable, or the file and line */
export async function resolveSettings(command: Command, env: Environment = io().env): Promise<Resolved> {
  const flags = fromFlags(command)
  const given: Settings = { ...fromVariables(env), ...flags }
  const environment = given.environment ?? environmentName(env)
  const file = await configFile(given, env, environment)
  const settings: Settings = { ...file?.settings, ...given }
  const notes = [...(file?.notes ?? [])]
  if (!given.require && settings.require) {
    const ruby = settings.require.filter((one) => !isForNode(one))
    settings.require = settings.require.filter(isForNode)
    if (settings.require.length === 0) delete settings.require
    if (ruby.length > 0) notes.push(`require: ${ruby.join(', ')} is for Ruby; use -r to load files here`)
  }
  // HIGHKIQ_LOG_LEVEL is more specific than `verbose` of a variable or file.
  if (!flags.verbose && variable('HIGHKIQ_LOG_LEVEL', env)) delete settings.verbose
  const threads = variable('RAILS_MAX_THREADS', env)
  if (settings.concurrency === undefined && threads) {
    settings.concurrency = readVariable('RAILS_MAX_THREADS', threads, SETTINGS.concurrency)
  }
  return { settings, environment: environment ?? file?.settings.environment ?? 'development', file, notes }
}

/** Reads the file that is given, or the default one, if it exists. @throws CliError (exit code 2) with file and line */
export async function configFile(
  { config, require: files = [] }: Pick<Settings, 'config' | 'require'>,
  env: Environment = io().env,
  environment = environmentName(env),
): Promise<ConfigFile | undefined> {
  const path = config ?? defaultConfig([...files.filter(isFolder), '.'])
  if (path === undefined) return undefined
  if (!existsSync(path)) throw new CliError(`there is no file ${path}`, 2)
  // The YAML parser is loaded only when there is a file.
  return (await import('./file.ts')).readConfig(path, environment, env)
}

/** Returns the default configuration file, if one exists. */
function defaultConfig(folders: readonly string[]): string | undefined {
  return folders.flatMap((folder) => DEFAULT_PATHS.map((path) => join(folder, path))).find((path) => existsSync(path))
}

function fromFlags(command: Command): Settings {
  const settings: Record<string, unknown> = {}
  for (const option of command.options) {
    const key = option.attributeName()
    const name = NAMES.find((one) => (SETTINGS[one] as Setting).flags === option.flags)
    if (!name || command.getOptionValueSource(key) !== 'cli') continue
    const value: unknown = command.getOptionValue(key)
    settings[name] = value === true && option.optional ? SETTINGS[name].read(value) : value
  }
  return settings as Settings
}

function fromVariables(env: Environment): Settings {
  const settings: Record<string, unknown> = {}
  for (const name of NAMES) {
    const setting: Setting = SETTINGS[name]
    const text = setting.variable && env[setting.variable]
    if (setting.variable && text) settings[name] = readVariable(setting.variable, text, setting)
  }
  return settings as Settings
}

function readVariable<T>(name: string, text: string, setting: Setting<T>): T {
  try {
    if (!setting.between) return setting.read(text)
    const parts = text.split(setting.between).filter(Boolean)
    return parts.flatMap(setting.read) as T
  } catch (thrown) {
    if (thrown instanceof InvalidArgumentError) {
      throw new CliError(`${name} is ${JSON.stringify(text)}: ${thrown.message}`, 2)
    }
    throw thrown
  }
}
