/** The thread that copies the write-ahead log into the database file, on a connection of its own; see checkpoints.ts. */

import { closeSync, openSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { CheckpointAnswer, CheckpointThreadData } from './checkpoints.ts'
import { isBusy } from './driver.ts'
import { openDriver } from './open-driver.ts'

/** Milliseconds for which the thread waits for the write lock. */
const LOCK_MS = 500
/**
 * Milliseconds for which the thread waits for readers, while the log has `largeFrames`. A larger log gets more time in
 * proportion. Nobody can write meanwhile.
 */
const TRUNCATE_MS = 150
const MOST_TRUNCATE_MS = 500
/** The log is copied beside the writers until at most this many frames are left, or after `MOST_PASSES` passes. */
const FEW_FRAMES = 500
const MOST_PASSES = 5

const { path, driver, largeFrames } = workerData as CheckpointThreadData
const db = await openDriver(path, driver)
// The file must be on disk before the log is cut off. This matters only on macOS, as in database.ts.
db.exec('PRAGMA checkpoint_fullfsync = ON')
const port = parentPort as NonNullable<typeof parentPort>

/** The frame at which a reader blocked the last call. */
let stuckAt: number | undefined

port.on('message', () => port.postMessage(checkpoint()))
// The first message may have arrived before the listener was there.
port.postMessage('ready')

function checkpoint(): CheckpointAnswer {
  let passive = run('PASSIVE', 0)
  // Every frame that is copied now shortens the pause of the writers later.
  for (let n = 1; n < MOST_PASSES && passive.frames - passive.copied > FEW_FRAMES; n++) passive = run('PASSIVE', 0)
  if (passive.frames < largeFrames) return passive
  // The same reader still blocks the log, so a pause of the writers would not help.
  if (stuckAt !== undefined && passive.copied === stuckAt) return { ...passive, blocked: true }
  if (!waitForWriteLock()) return { ...passive, blocked: true }
  const waitMs = Math.min(MOST_TRUNCATE_MS, (TRUNCATE_MS * passive.frames) / largeFrames)
  const last = run('TRUNCATE', Math.round(waitMs))
  const blocked = last.frames >= largeFrames && last.copied < last.frames
  stuckAt = blocked ? last.copied : undefined
  return { ...last, blocked }
}

function run(mode: 'PASSIVE' | 'TRUNCATE', waitMs: number): CheckpointAnswer {
  db.exec(`PRAGMA busy_timeout = ${waitMs}`)
  const [row] = db.prepare(`PRAGMA wal_checkpoint(${mode})`).all() as [{ log: number; checkpointed: number }]
  return { frames: row.log, copied: row.checkpointed, blocked: false }
}

/**
 * Waits for a moment in which no other process writes, and returns whether it came within `LOCK_MS`. SQLite's own waiting
 * asks for the lock too seldom to get it between the transactions of busy writers.
 */
function waitForWriteLock(): boolean {
  db.exec('PRAGMA busy_timeout = 1')
  for (const end = performance.now() + LOCK_MS; performance.now() < end; ) {
    askWritersToPause()
    try {
      db.exec('BEGIN IMMEDIATE')
      db.exec('COMMIT')
      return true
    } catch (thrown) {
      if (!isBusy(db, thrown)) throw thrown
    }
  }
  return false
}

/** Asks writers to pause, in the same way as a waiting writer; see writer.ts. */
function askWritersToPause(): void {
  try {
    closeSync(openSync(`${path}-queue`, 'w'))
  } catch {
    // Without this file it only takes longer to get the lock.
  }
}
