/** The thread that copies the write-ahead log into the database file, on a connection of its own; see checkpoints.ts. */

import { closeSync, openSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { CheckpointAnswer, CheckpointThreadData } from './checkpoints.ts'
import { openDriver } from './driver.ts'

/** So long the thread waits for the write lock and for readers, while nobody writes. */
const TRUNCATE_MS = 150
/** The log is copied beside those who write until so little is left, but no oftener. */
const FEW_FRAMES = 500
const MOST_PASSES = 5

const { path, driver, largeFrames } = workerData as CheckpointThreadData
const db = await openDriver(path, driver)
const port = parentPort as NonNullable<typeof parentPort>

/** The frame at which a reader kept the last call from going on. */
let stuckAt: number | undefined

port.on('message', () => port.postMessage(checkpoint()))
// The first message may have come before.
port.postMessage('ready')

function checkpoint(): CheckpointAnswer {
  let passive = run('PASSIVE', 0)
  // What is copied now, nobody has to wait for later.
  for (let n = 1; n < MOST_PASSES && passive.frames - passive.copied > FEW_FRAMES; n++) passive = run('PASSIVE', 0)
  if (passive.frames < largeFrames) return passive
  // A reader that stands where it stood would only keep everybody from writing.
  if (stuckAt !== undefined && passive.copied === stuckAt) return { ...passive, blocked: true }
  askWritersToPause()
  const last = run('TRUNCATE', TRUNCATE_MS)
  const blocked = last.frames >= largeFrames && last.copied < last.frames
  stuckAt = blocked ? last.copied : undefined
  return { ...last, blocked }
}

function run(mode: 'PASSIVE' | 'TRUNCATE', waitMs: number): CheckpointAnswer {
  db.exec(`PRAGMA busy_timeout = ${waitMs}`)
  const [row] = db.prepare(`PRAGMA wal_checkpoint(${mode})`).all() as [{ log: number; checkpointed: number }]
  return { frames: row.log, copied: row.checkpointed, blocked: false }
}

/** As a writer does that waits for its turn; see writer.ts. */
function askWritersToPause(): void {
  try {
    closeSync(openSync(`${path}-queue`, 'w'))
  } catch {
    // It takes longer to get the lock.
  }
}
