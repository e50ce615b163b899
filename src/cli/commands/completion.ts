/** `highkiq completion` prints a script with which a shell completes commands, options and their values. */

import { Argument, type Command } from 'commander'
import { completionScript, SHELL_NAMES, type Shell } from '../completion.ts'
import { io } from '../io.ts'

const EXAMPLES = `
Add one of these lines to the start-up file of your shell:
  eval "$(highkiq completion bash)"         ~/.bashrc
  eval "$(highkiq completion zsh)"          ~/.zshrc, behind compinit
  highkiq completion fish | source          ~/.config/fish/config.fish
`

export function register(program: Command): void {
  program
    .command('completion')
    .description('print a script that makes your shell complete commands, options and values')
    .addArgument(new Argument('<shell>', 'your shell').choices(SHELL_NAMES))
    .addHelpText('after', EXAMPLES)
    .action((shell: Shell) => {
      io().stdout.write(completionScript(shell, program))
    })
}
