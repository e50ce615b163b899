/** Errors of a Redis server and of the client library: which kind they are, and what to do. */

import { HighkiqError } from '../../../job/errors.ts'

/** Errors that a repeated attempt does not change. */
export const REFUSED =
  /^(NOAUTH|WRONGPASS|ERR invalid password|ERR AUTH|NOPERM|ERR DB index|ERR invalid DB index|ERR This instance has cluster)/
/** The old master answers this after a failover, and the old node after its hash slot has moved: connect to the new one. */
export const MOVED = /^(READONLY|MOVED|CLUSTERDOWN)\b/
/** Errors of a command that was refused but may succeed when it is sent again later. */
export const TEMPORARY =
  /^(LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|NOREPLICAS|UNBLOCKED|MISCONF)\b/

/** Returns whether a command with this error may have been carried out all the same. */
export function maybeDone(thrown: unknown): boolean {
  if (thrown instanceof HighkiqError) return thrown.details?.sent === true
  const { message = '' } = thrown as Error
  return !isReply(thrown) && !message.startsWith("Stream isn't writeable")
}

/** Returns the server's message; for a key of the wrong type it adds the key. */
export function messageOf(thrown: unknown): string {
  const { message: said = String(thrown), command } = thrown as Error & { command?: { name: string; args: unknown[] } }
  // Before version 7 the reason of an error that a script raises comes after the position in the script.
  const message = said.replace(/^ERR (Error running script.*?: -?(?=[A-Z]+ )|(?=WRONGTYPE))/s, '')
  if (!message.startsWith('WRONGTYPE Operation') || !command) return message.replace(/ script: [0-9a-f]{40}.*$/s, '')
  const keys = command.args.slice(0, command.name.toLowerCase() === 'blmove' ? 2 : 1).join(' or ')
  return `WRONGTYPE the key ${keys} holds a value of another type (${command.name})`
}

/** Returns whether the server accepted the connection and never answered. With TLS ioredis calls that `connect ETIMEDOUT`. */
export function isSilence({ message }: Error, url: string): boolean {
  return message === 'Command timed out' || (message === 'connect ETIMEDOUT' && url.startsWith('rediss'))
}

/** Adds to a message what to do. */
export function hinted(message: string, url: string): string {
  if (message.startsWith('NOAUTH')) return 'the server requires a password: use redis://:PASSWORD@host'
  const master = /No such master/.test(message)
  if (master) return 'the sentinels know no server of that name: use redis+sentinel://host:26379/NAME'
  if (/cluster support disabled/.test(message)) return 'the server is not a node of a cluster: use redis://'
  if (/ECONNRESET|no answer|wrong version number/.test(message)) {
    const isTls = url.startsWith('rediss')
    const hint = isTls ? 'the server may not speak TLS: use redis://' : 'if the server expects TLS, use rediss://'
    return `${message} (${hint}; or it is not a Redis server)`
  }
  if (/self.signed|certificate/.test(message)) return `${message}: give its authority as redis: { tls: { ca } }`
  return message
}

export function isReply(thrown: unknown): boolean {
  return (thrown as Error)?.name === 'ReplyError'
}

/** `sent`: a command was sent, and its answer does not arrive any more. */
export function closedError(url: string, sent = false): HighkiqError {
  const text = sent ? `the store ${url} was closed before the server answered` : `the store ${url} is closed`
  return new HighkiqError('STORE_CLOSED', text, { sent })
}
