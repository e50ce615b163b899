/** Scripts for shells that complete commands, options and their values. They are made from the commands themselves. */

import type { Command, Option } from 'commander'

interface Suggestion {
  word: string
  description: string
}

/** The words that can follow one command. */
interface Completions {
  /** The command and those around it, each behind a space: ` task list`; '' for `highkiq` itself. */
  path: string
  /** The commands in it, or the values of an argument that has a fixed choice. */
  commands: Suggestion[]
  options: Suggestion[]
  /** The values of options that have a fixed choice, by the names of the option. */
  values: { names: string[]; choices: readonly string[] }[]
}

function completionsOf(command: Command, path = ''): Completions[] {
  const help = command.createHelp()
  const options = help.visibleOptions(command)
  const inner = command.commands.filter((one) => one.name() !== 'help')
  const own = {
    path,
    commands: [
      ...inner.map((one) => ({ word: one.name(), description: one.summary() || one.description() })),
      ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((word) => ({ word, description })),
      ),
    ],
    options: options.map((option) => ({ word: option.long ?? option.short ?? '', description: option.description })),
    values: options.flatMap((option) => {
      const { argChoices } = option
      return argChoices ? [{ names: namesOf(option), choices: argChoices }] : []
    }),
  }
  return [own, ...inner.flatMap((one) => completionsOf(one, `${path} ${one.name()}`))]
}

function namesOf({ short, long }: Option): string[] {
  return [short, long].filter((name) => name !== undefined)
}

function namesIn(words: readonly Suggestion[]): string {
  return words.map(({ word }) => word).join(' ')
}

function summaryOf(text: string): string {
  return text.split('\n')[0]?.replace(/`/g, '') as string
}

/** Quotes a text for any of the shells. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '').replaceAll("'", '’')}'`
}

/** Returns the cases of a `case "$command"` with a line each, for bash and zsh. */
function cases(all: readonly Completions[], line: (one: Completions) => string): string {
  return all.map((one) => `    ${quoted(one.path)}) ${line(one)} ;;`).join('\n')
}

function valueCases(all: readonly Completions[]): string {
  return all
    .flatMap(({ path, values }) =>
      values.map(({ names, choices }) => {
        const patterns = names.map((name) => quoted(`${path} ${name}`)).join(' | ')
        return `    ${patterns}) values=${quoted(choices.join(' '))} ;;`
      }),
    )
    .join('\n')
}

/** The function that finds the command among the words before the cursor, for bash and zsh. */
function pathCases(all: readonly Completions[]): string {
  const paths = all.map(({ path }) => path).filter((path) => path !== '')
  return `case "$command $word" in ${paths.map(quoted).join(' | ')}) command="$command $word" ;; esac`
}

function bash(all: readonly Completions[]): string {
  return `# Completion of highkiq for bash: eval "$(highkiq completion bash)"
_highkiq() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command='' commands='' options='' values='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    ${pathCases(all)}
  done
  case "$command" in
${cases(all, ({ commands, options }) => `commands=${quoted(namesIn(commands))} options=${quoted(namesIn(options))}`)}
  esac
  case "$command \${COMP_WORDS[COMP_CWORD-1]}" in
${valueCases(all)}
  esac
  if [[ -n $values ]]; then
    commands=$values
  elif [[ $current == -* ]]; then
    commands=$options
  fi
  COMPREPLY=($(compgen -W "$commands" -- "$current"))
}
complete -o default -F _highkiq highkiq
`
}

function zsh(all: readonly Completions[]): string {
  const described = (words: readonly Suggestion[]) =>
    words.map(({ word, description }) => quoted(`${word}:${summaryOf(description)}`)).join(' ')
  return `#compdef highkiq
# Completion of highkiq for zsh: eval "$(highkiq completion zsh)", or a file _highkiq in a folder of $fpath
_highkiq() {
  local command='' values='' word
  local -a commands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    ${pathCases(all)}
  done
  case "$command" in
${cases(all, ({ commands, options }) => `commands=(${described(commands)}) options=(${described(options)})`)}
  esac
  case "$command \${words[CURRENT-1]}" in
${valueCases(all)}
  esac
  if [[ -n $values ]]; then
    compadd -- \${=values}
  elif [[ \${words[CURRENT]} == -* ]]; then
    _describe option options
  elif (( $#commands )); then
    _describe command commands
  else
    _files
  fi
}
if [[ $funcstack[1] == _highkiq ]]; then
  _highkiq "$@"
else
  compdef _highkiq highkiq
fi
`
}

function fish(all: readonly Completions[]): string {
  const paths = all.map(({ path }) => path).filter((path) => path !== '')
  const lines = all.flatMap(({ path, commands, options, values }) => {
    const at = `complete -c highkiq -n "test (__highkiq_command) = ${quoted(path)}"`
    const choicesOf = (word: string) => values.find(({ names }) => names.includes(word))?.choices
    return [
      ...commands.map(({ word, description }) => `${at} -f -a ${word} -d ${quoted(summaryOf(description))}`),
      ...options.map(({ word, description }) => {
        const choices = choicesOf(word)
        const name = word.startsWith('--') ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`
        const value = choices ? ` -x -a ${quoted(choices.join(' '))}` : ''
        return `${at} ${name}${value} -d ${quoted(summaryOf(description))}`
      }),
    ]
  })
  return `# Completion of highkiq for fish: highkiq completion fish | source
function __highkiq_command
  set -l command ''
  for word in (commandline -opc)[2..-1]
    if contains -- "$command $word" ${paths.map(quoted).join(' ')}
      set command "$command $word"
    end
  end
  echo "$command"
end
${lines.join('\n')}
`
}

const SHELLS = { bash, zsh, fish }

export type Shell = keyof typeof SHELLS

export const SHELL_NAMES = Object.keys(SHELLS) as Shell[]

/** Returns the script that completes the commands of this program. */
export function completionScript(shell: Shell, program: Command): string {
  return SHELLS[shell](completionsOf(program))
}
