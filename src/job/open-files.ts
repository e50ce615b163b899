/** Errors of a process, or of a machine, that may open no more files. Connections count as files. */

import { closeSync, openSync } from 'node:fs'
import { HighkiqError, messageOf } from './errors.ts'

/** The advice for each error code of the system. */
const ADVICE = {
  EMFILE:
    'too many open files: this process may open no more (RLIMIT_NOFILE): raise the limit, by ulimit -n or by LimitNOFILE of its systemd unit',
  ENFILE: 'too many open files: this machine may open no more (fs.file-max): raise the limit, by sysctl',
} as const

/** The messages of errors that do not say why something could not be opened: of SQLite, of the look-up of a host. */
const UNCLEAR = /unable to open|EAI_[A-Z]+|ENOTFOUND/i

/** Returns what to do about an error that comes of too many open files; undefined for any other error. */
export function adviceOnFiles(thrown: unknown): string | undefined {
  const text = messageOf(thrown)
  const code = /\bE[MN]FILE\b/.exec(text)?.[0] ?? (UNCLEAR.test(text) ? codeOfNow() : undefined)
  return ADVICE[code as keyof typeof ADVICE]
}

/**
 * Call it before a package is loaded: without a file Node takes the package for missing, and remembers that.
 * @throws STORE_UNREACHABLE when this process can open no file now
 */
export function checkFiles(what: string): void {
  const advice = ADVICE[codeOfNow() as keyof typeof ADVICE]
  if (advice) throw new HighkiqError('STORE_UNREACHABLE', `${what} can't be loaded: ${advice}`)
}

/** Returns the code of the error with which a file that exists can't be opened now. */
function codeOfNow(): string | undefined {
  try {
    closeSync(openSync(process.execPath, 'r'))
    return undefined
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code
  }
}
