// The page of a task's submitter, live: what the server wrote is kept up to date.

const page = document.querySelector('main')
const { id } = page.dataset
const token = new URLSearchParams(location.search).get('token')
const api = (rest, query = {}) => {
  const search = new URLSearchParams(token === null ? query : { ...query, token })
  return `../api/v1/tasks/${id}${rest}?${search}`
}
const numbers = new Intl.NumberFormat()
const part = (name) => document.querySelector(`[data-part="${name}"]`)
const write = (name, text) => {
  const element = part(name)
  if (element.textContent !== text) element.textContent = text
}

// Progress -----------------------------------------------------------------------------------------------------

const ORDER = ['finished', 'failed', 'error', 'working', 'enqueued', 'cancelled']
const STATES = {
  adding: 'Rows are still coming in',
  paused: 'Paused',
  cancelling: 'Being stopped',
  cancelled: 'Stopped',
  interrupted: 'The file broke off: what came is being worked on',
}

function show(status) {
  const { counts, total, state } = status
  const done = counts.finished + counts.failed + counts.error + counts.cancelled
  write('done', numbers.format(done))
  write('of', `of ${count(total, 'row')} ${total === 1 ? 'is' : 'are'} done`)
  write('left', timeLeft(status, total - done))
  write('percent', total === 0 ? '' : `${Math.floor((done / total) * 100)}%`)
  for (const name of ['finished', 'failed', 'error', 'cancelled']) write(name, numbers.format(counts[name]))
  write('enqueued', numbers.format(counts.enqueued + counts.working))
  for (const name of ['failed', 'error', 'cancelled']) part(name).closest('li').hidden = counts[name] === 0
  part('enqueued').closest('li').hidden = counts.enqueued + counts.working === 0
  draw(counts)
  part('fix').hidden = counts.failed === 0
  part('finish').hidden = counts.failed === 0
  write('download', `Download ${count(counts.failed + counts.error + counts.cancelled, 'row')}`)
  part('more').hidden = isOver(status)
  document.title = `${state === 'done' ? '✓' : `${Math.floor(status.percent)}%`} ${status.name}`
}

function draw(counts) {
  const bar = part('bar')
  bar.classList.add('drawn')
  for (const name of ORDER) {
    const piece = bar.querySelector(`.${name}`)
    piece.style.setProperty('--n', counts[name])
    piece.hidden = counts[name] === 0
  }
  const words = ORDER.filter((name) => counts[name] > 0).map((name) => `${numbers.format(counts[name])} ${name}`)
  bar.setAttribute('aria-label', words.join(', '))
}

const isOver = ({ state, counts }) =>
  state === 'done' || state === 'cancelled' || (state === 'interrupted' && counts.enqueued + counts.working === 0)

function timeLeft(status, open) {
  const { state, etaSeconds } = status
  if (state === 'done') return 'All rows are done'
  if (STATES[state]) return STATES[state]
  if (open === 0 || etaSeconds === null) return 'Being worked on'
  if (etaSeconds < 60) return 'Less than a minute left'
  if (etaSeconds < 5400) return `About ${count(Math.round(etaSeconds / 60), 'minute')} left`
  return `About ${count(Math.round(etaSeconds / 3600), 'hour')} left`
}

const count = (n, what) => `${numbers.format(n)} ${what}${n === 1 ? '' : 's'}`

// Reasons ------------------------------------------------------------------------------------------------------

const MOST_ROWS = 5000
const MOST_REASONS = 20
let failed = new Map()
let cursor
let asking = false
let askedFor

/** Asks for the rows that were refused since it asked last; one question at a time. */
async function askReasons({ run, counts }) {
  const now = `${run} ${counts.failed}`
  if (asking || askedFor === now || counts.failed === 0) return
  asking = true
  try {
    // Rows that run again are no longer refused.
    if (counts.failed < failed.size) {
      failed = new Map()
      cursor = undefined
    }
    while (failed.size < Math.min(counts.failed, MOST_ROWS)) {
      const response = await fetch(api('', { include: 'rejected', ...(cursor ? { after: cursor } : {}) }))
      if (!response.ok) return
      const { items, next } = (await response.json()).rejected
      for (const event of items) if (event.status === 'failed') failed.set(event.index, event)
      cursor = next
      // A sweep over all of them is at its end.
      if (items.length < 100) break
    }
    askedFor = now
    showReasons()
  } catch {
    // The next change asks again.
  } finally {
    asking = false
  }
}

function showReasons() {
  const groups = new Map()
  for (const event of failed.values()) {
    const text = event.messages.at(-1)?.text ?? 'No reason was given'
    const key = event.code ?? text
    const group = groups.get(key) ?? { texts: new Map(), rows: [] }
    group.texts.set(text, (group.texts.get(text) ?? 0) + 1)
    group.rows.push(event.number ?? event.index + 1)
    groups.set(key, group)
  }
  const largest = [...groups.values()].sort((a, b) => b.rows.length - a.rows.length)
  write('reasons-of', `${count(failed.size, 'row')} so far, by reason`)
  part('reasons').replaceChildren(
    ...largest.slice(0, MOST_REASONS).map((group) => reason(group, largest[0].rows.length)),
  )
}

function reason({ texts, rows }, most) {
  const sorted = [...texts].sort((a, b) => b[1] - a[1])
  const item = document.createElement('li')
  const title = add(item, 'div', 't')
  add(title, 'b', '', sorted[0][0])
  add(title, 'span', 'n', numbers.format(rows.length))
  const meter = add(item, 'span', 'meter')
  meter.style.setProperty('--v', (rows.length / most) * 100)
  add(meter, 'i', '')
  const shown = rows.sort((a, b) => a - b).slice(0, 4)
  const rest = rows.length - shown.length
  const which = `${rows.length === 1 ? 'Row' : 'Rows'} ${shown.map((row) => numbers.format(row)).join(', ')}`
  const others =
    sorted.length > 1
      ? ` Also: ${sorted
          .slice(1, 3)
          .map(([text]) => `“${text}”`)
          .join(', ')}.`
      : ''
  add(item, 'p', '', `${which}${rest > 0 ? ` and ${numbers.format(rest)} more` : ''}.${others}`)
  return item
}

function add(parent, name, className, text) {
  const element = document.createElement(name)
  if (className) element.className = className
  if (text !== undefined) element.textContent = text
  parent.append(element)
  return element
}

// Live ---------------------------------------------------------------------------------------------------------

const AGAIN_MS = 5000

function connect() {
  const source = new EventSource(api('/stream'))
  const news = ({ data }) => {
    const status = JSON.parse(data)
    live(isOver(status) ? 'Done' : 'Live', !isOver(status))
    show(status)
    void askReasons(status)
  }
  source.addEventListener('open', () => live('Live', true))
  source.addEventListener('status', news)
  source.addEventListener('done', (event) => {
    source.close()
    news(event)
  })
  source.addEventListener('deleted', () => {
    source.close()
    live('Deleted', false)
    write('left', 'This task is no longer kept')
  })
  source.addEventListener('error', () => {
    live('Not live', false)
    // A browser comes again by itself, unless the answer was no stream.
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN_MS)
  })
}

function live(text, on) {
  write('live-text', text)
  part('live').classList.toggle('off', !on)
}

// Theme, times -------------------------------------------------------------------------------------------------

const root = document.documentElement
const kept = localStorage.getItem('theme')
if (kept === 'light' || kept === 'dark') root.dataset.theme = kept
part('theme').hidden = false
part('theme').addEventListener('click', () => {
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  root.dataset.theme = dark ? 'light' : 'dark'
  localStorage.setItem('theme', root.dataset.theme)
})

function tellAge() {
  const sent = part('sent')
  const minutes = Math.round((Date.now() - new Date(sent.dateTime)) / 60_000)
  const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })
  const [n, unit] =
    minutes < 60
      ? [minutes, 'minute']
      : minutes < 2880
        ? [Math.round(minutes / 60), 'hour']
        : [Math.round(minutes / 1440), 'day']
  sent.textContent = minutes < 1 ? 'just now' : relative.format(-n, unit)
  sent.title = new Date(sent.dateTime).toLocaleString()
}
tellAge()
setInterval(tellAge, 60_000)

connect()
