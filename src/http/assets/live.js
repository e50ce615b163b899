// Live updates: a stream announces a change, and the script copies it from a newer page. Without the stream it polls.

import { drawBars } from './dress.js'
import { api, part, say, write } from './page.js'

/** The shortest time between two page loads. */
const PAUSE_MS = 500
const ASK_MS = 5000
/** When the stream is silent for this long at its start, a proxy buffers it. */
const SILENT_MS = 5000

const ATTRIBUTES = ['hidden', 'aria-label', 'data-n']
let source
let silence
let asking
let isGone = false

export function follow() {
  remember()
  drawBars()
  connect()
  addEventListener('online', () => void refresh())
  document.addEventListener('visibilitychange', () => {
    // A browser opens six connections to a server, so a hidden page keeps none of them.
    if (document.hidden) close()
    else if (!isOver()) followOn()
  })
}

/** Opens the stream again, for example after a retry. */
export function followOn() {
  if (source?.readyState !== EventSource.OPEN) connect()
  void refresh()
}

function connect() {
  if (isGone || document.hidden) return
  close()
  source = new EventSource(api('/stream'))
  const mine = source
  silence = setTimeout(ask, SILENT_MS)
  const onChange = () => {
    clearTimeout(silence)
    clearInterval(asking)
    asking = undefined
    if (!isOver()) showState('live', true)
    void refresh()
  }
  source.addEventListener('status', onChange)
  source.addEventListener('done', () => {
    mine.close()
    onChange()
  })
  source.addEventListener('deleted', () => {
    mine.close()
    gone()
  })
  source.addEventListener('error', () => {
    clearTimeout(silence)
    if (mine !== source) return
    showState('live.off', false)
    ask()
    // A browser reconnects by itself, unless the answer was not a stream.
    if (mine.readyState === EventSource.CLOSED) setTimeout(() => mine === source && connect(), ASK_MS)
  })
}

function close() {
  clearTimeout(silence)
  source?.close()
}

function ask() {
  asking ??= setInterval(() => document.hidden || refresh(), ASK_MS)
}

// A newer page --------------------------------------------------------------------------------------------------

const isOver = () => part('over').dataset.n === '1'
const parts = (page) => [...page.querySelectorAll('[data-fresh]')]
/** The content of each part as the server sent it. The script may have changed the part since. */
const written = new Map()
let isLoading = false
let isWanted = false

function remember() {
  for (const element of parts(document)) written.set(element.dataset.part, element.innerHTML)
}

/** Loads one page at a time, with a pause in between. */
async function refresh() {
  isWanted = true
  if (isLoading) return
  isLoading = true
  while (isWanted && !isGone) {
    isWanted = false
    const pause = new Promise((done) => setTimeout(done, PAUSE_MS))
    await loadNewer()
    await pause
  }
  isLoading = false
}

async function loadNewer() {
  try {
    const response = await fetch(location.href, { headers: { accept: 'text/html' } })
    if (response.status === 401) return gone('live.off', 'wrong.UNAUTHORIZED')
    if (response.status === 404) return gone()
    if (!response.ok) throw new Error(response.statusText)
    apply(new DOMParser().parseFromString(await response.text(), 'text/html'))
    if (isOver()) end()
    else if (asking) showState('live.asking', false)
  } catch {
    showState('live.off', false)
    ask()
  }
}

function apply(page) {
  document.title = page.title
  for (const there of parts(page)) {
    const { part: name, fresh } = there.dataset
    const here = part(name)
    // The server was replaced by another version.
    if (!here) continue
    for (const attribute of ATTRIBUTES) {
      const value = there.getAttribute(attribute)
      if (value === null) here.removeAttribute(attribute)
      else if (here.getAttribute(attribute) !== value) here.setAttribute(attribute, value)
    }
    if (fresh === 'shell' || written.get(name) === there.innerHTML) continue
    written.set(name, there.innerHTML)
    here.replaceChildren(...document.importNode(there, true).childNodes)
  }
  drawBars()
}

function end() {
  clearInterval(asking)
  asking = undefined
  showState('live.done', false)
}

/** Follows the task no longer, because it was deleted, or its link has ended. */
function gone(state = 'live.gone', why = 'left.gone') {
  isGone = true
  close()
  end()
  showState(state, false)
  write('left', say(why))
}

function showState(word, isLive) {
  write('live-text', say(word))
  part('live').classList.toggle('off', !isLive)
}
