/** The jobs of victims, whose texts name them. (Plain JavaScript, because victims are started often.) */

export const TASK = { id: '00000000000c4a54', producer: 'victim', queue: 'rows', window: 3 }
export const CLOCK = Date.UTC(2026, 4, 17, 12)

/**
 * A victim's job. Rows of its task have `jid` instead of `id`. `ended`: how many attempts have.
 *
 * @typedef {{ id?: string, jid?: string, hk_run?: number, ended?: number }} Story
 *
 * @param {string} text
 * @returns {Story}
 */
function storyOf(text) {
  return JSON.parse(text)
}

/** @param {string} text */
export function idOf(text) {
  const { id, jid } = storyOf(text)
  return id ?? jid ?? '?'
}

/**
 * The text after an attempt.
 *
 * @param {string} text
 */
export function later(text) {
  const story = storyOf(text)
  return JSON.stringify({ ...story, ended: (story.ended ?? 0) + 1 })
}

/** @param {string} text */
export function queueOf(text) {
  return storyOf(text).jid ? TASK.queue : 'q'
}

/**
 * The change of a row's event; `next`: of the attempt that follows those that have ended.
 *
 * @typedef {import('#dist/store/contract.js').EventEffect} EventEffect
 *
 * @param {string} text
 * @param {EventEffect['status']} status
 * @param {EventEffect['window']} place
 * @param {0 | 1} next
 * @returns {EventEffect[]}
 */
export function change(text, status, place, next) {
  const { jid, hk_run: run = 1, ended = 0 } = storyOf(text)
  return jid ? [{ kind: 'event', jid, run, attempt: ended + next, status, at: CLOCK, window: place }] : []
}
