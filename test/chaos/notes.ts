import { readdirSync, readFileSync } from 'node:fs'

/** What the jobs and workers noted, of all processes. */
export interface Notes {
  /** When each job's handler ran, by the job's number. */
  ran: Map<number, number[]>
  /** Owners that lost their leases. */
  lost: number
}

export function readNotes(folder: string): Notes {
  const ran = new Map<number, number[]>()
  let lost = 0
  for (const file of readdirSync(folder).filter((name) => name.startsWith('notes-'))) {
    for (const line of readFileSync(`${folder}/${file}`, 'utf8').split('\n')) {
      const [word, what, at] = line.split(' ')
      if (word === 'lost') lost++
      if (word !== 'ran') continue
      const times = ran.get(Number(what))
      if (times) times.push(Number(at))
      else ran.set(Number(what), [Number(at)])
    }
  }
  return { ran, lost }
}
