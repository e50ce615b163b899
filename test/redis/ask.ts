import { connect } from 'node:net'
import { encode, type Message, Reader } from './resp.ts'

/**
 * Asks a server over a connection of its own, without a client library: sends the commands at once and answers with the
 * replies, errors among them (`type` is `-`).
 */
export function ask(port: number, ...commands: (string | Buffer)[][]): Promise<Message[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const reader = new Reader()
    const replies: Message[] = []
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`the server on port ${port} closed the connection`)))
    socket.on('data', (chunk) => {
      replies.push(...reader.read(chunk))
      if (replies.length < commands.length) return
      resolve(replies)
      socket.destroy()
    })
    socket.write(Buffer.concat(commands.map((command) => encode(...command))))
  })
}

/** Returns the strings of each reply; rejects when one is an error. */
export async function stringsOf(port: number, ...commands: string[][]): Promise<string[][]> {
  const replies = await ask(port, ...commands)
  return replies.map(({ type, parts }) => {
    const texts = parts.map(String)
    if (type === '-') throw new Error(texts.join(' '))
    return texts
  })
}
