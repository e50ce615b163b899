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
  write('why', why(status))
  part('why').hidden = part('why').textContent === ''
  write('percent', total === 0 ? '' : `${Math.floor((done / total) * 100)}%`)
  for (const name of ['finished', 'failed', 'error', 'cancelled']) write(name, numbers.format(counts[name]))
  write('enqueued', numbers.format(counts.enqueued + counts.working))
  for (const name of ['failed', 'error', 'cancelled']) part(name).closest('li').hidden = counts[name] === 0
  part('enqueued').closest('li').hidden = counts.enqueued + counts.working === 0
  draw(counts)
  part('fix').hidden = counts.failed === 0
  const rejected = counts.failed + counts.error + counts.cancelled
  part('finish').hidden = counts.failed + counts.cancelled === 0
  part('stop').hidden = isOver(status) || state === 'cancelling'
  waiting = counts.enqueued
  write('download', `Download ${count(rejected, 'row')}`)
  part('more').hidden = isOver(status)
  document.title = `${state === 'done' ? '✓' : `${Math.floor(status.percent)}%`} ${status.name}`
}

function why({ state, reason }) {
  if (state === 'paused') {
    return `Paused: ${reason ?? 'whoever runs this has stopped it for now'}. What waits goes on when it is resumed.`
  }
  return reason === undefined || state === 'done' ? '' : `Stopped: ${reason}`
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

const MOST_REASONS = 20
const SAMPLES = 4
const UNCODED = 500
let asking = false
let askedFor

/** Asks why rows were refused when there are other ones than before; one question at a time. */
async function askReasons({ run, counts }) {
  const now = `${run} ${counts.failed}`
  if (asking || askedFor === now || counts.failed === 0) return
  asking = true
  try {
    const reasons = (await ask('/reasons', { samples: SAMPLES })).items.filter(({ status }) => status === 'failed')
    const coded = reasons.filter(({ code }) => code !== null)
    const groups = coded.map(({ count, samples }) => groupOf(samples, count))
    const uncoded = reasons.find(({ code }) => code === null)
    if (uncoded) groups.push(...(await byMessage(uncoded.count)))
    askedFor = now
    showReasons(groups, counts.failed)
  } catch {
    // The next change asks again.
  } finally {
    asking = false
  }
}

/** Rows without a code are told apart by what was said of them, as far as they are looked at. */
async function byMessage(count) {
  const { items } = await ask('/events', { status: 'failed', limit: UNCODED })
  const groups = new Map()
  for (const { index, number, code, messages } of items) {
    if (code !== null) continue
    const message = messages.at(-1)?.text ?? null
    const samples = groups.get(message) ?? []
    samples.push({ index, number, message })
    groups.set(message, samples)
  }
  const all = [...groups.values()].map((samples) => groupOf(samples, samples.length))
  const rest = count - all.reduce((sum, group) => sum + group.count, 0)
  if (rest > 0) all.push({ texts: ['For other reasons: see the file'], rows: [], count: rest })
  return all
}

function groupOf(samples, count) {
  const texts = [...new Set(samples.map(({ message }) => message ?? 'No reason was given'))]
  return { texts, rows: samples.map(({ index, number }) => number ?? index + 1), count }
}

async function ask(rest, query) {
  const response = await fetch(api(rest, query))
  if (!response.ok) throw new Error(response.statusText)
  return response.json()
}

function showReasons(groups, failed) {
  const largest = groups.sort((a, b) => b.count - a.count)
  write('reasons-of', `${count(failed, 'row')} so far, by reason`)
  part('reasons').replaceChildren(...largest.slice(0, MOST_REASONS).map((group) => reason(group, largest[0].count)))
}

function reason({ texts, rows, count: n }, most) {
  const item = document.createElement('li')
  const title = add(item, 'div', 't')
  add(title, 'b', '', texts[0])
  add(title, 'span', 'n', numbers.format(n))
  const meter = add(item, 'span', 'meter')
  meter.style.setProperty('--v', (n / most) * 100)
  add(meter, 'i', '')
  const shown = rows.slice(0, SAMPLES)
  const rest = n - shown.length
  const which = `${n === 1 ? 'Row' : 'Rows'} ${shown.map((row) => numbers.format(row)).join(', ')}`
  const quoted = texts.slice(1, 3).map((text) => `“${text}”`)
  const others = quoted.length > 0 ? ` Also: ${quoted.join(', ')}.` : ''
  if (shown.length > 0) add(item, 'p', '', `${which}${rest > 0 ? ` and ${numbers.format(rest)} more` : ''}.${others}`)
  return item
}

function add(parent, name, className, text) {
  const element = document.createElement(name)
  if (className) element.className = className
  if (text !== undefined) element.textContent = text
  parent.append(element)
  return element
}

// Sending corrected rows, and stopping -------------------------------------------------------------------------

const SECOND_MS = 1000
let waiting = 0
let sending = false

async function send(file) {
  if (!file || sending) return
  sending = true
  part('send').classList.add('busy')
  write('send-text', 'Sending…')
  try {
    const form = new FormData()
    form.append('file', file)
    const answer = await post('/retry', { body: form })
    const { rows, refused, dropped } = answer
    const still = refused > 0 ? ` ${count(refused, 'row')} in it ${refused === 1 ? 'is' : 'are'} still not right.` : ''
    const gone = dropped > 0 ? ` ${count(dropped, 'row')} could not be run again.` : ''
    tell(
      rows > 0 ? `${count(rows, 'row')} will run again.${still}${gone}` : `No row runs again.${still}${gone}`,
      rows === 0,
    )
    // What is refused now may be refused for another reason than before.
    askedFor = undefined
    if (source.readyState === EventSource.CLOSED) connect()
  } catch (error) {
    tell(error.message, true)
  } finally {
    sending = false
    part('file').value = ''
    part('send').classList.remove('busy')
    write('send-text', 'Send corrected file')
  }
}

async function stop() {
  part('dialog').close()
  part('ask').disabled = true
  try {
    await post('/cancel')
  } catch (error) {
    part('stop').hidden = false
    write('ask', error.message)
  } finally {
    setTimeout(() => {
      part('ask').disabled = false
    }, SECOND_MS)
  }
}

async function post(rest, init = {}) {
  const response = await fetch(api(rest), { method: 'POST', ...init }).catch(() => {
    throw new Error('It could not be sent: are you online? Try again.')
  })
  const body = await response.json()
  if (!response.ok) throw new Error(body.error.message)
  return body
}

function tell(text, isWrong) {
  write('sent-news', text)
  part('sent-news').hidden = false
  part('sent-news').classList.toggle('wrong', isWrong)
}

part('send').hidden = false
part('send-step').hidden = false
part('file').addEventListener('change', () => send(part('file').files[0]))
part('ask').addEventListener('click', () => {
  write(
    'ask-title',
    waiting > 0 ? `Stop ${count(waiting, 'row')} that ${waiting === 1 ? 'waits' : 'wait'}?` : 'Stop this?',
  )
  write('yes', waiting > 0 ? `Stop ${count(waiting, 'row')}` : 'Stop')
  part('dialog').showModal()
})
part('yes').addEventListener('click', stop)
part('no').addEventListener('click', () => part('dialog').close())

// A file may be dropped anywhere on the page.
const carriesFile = (event) => !part('finish').hidden && event.dataTransfer?.types.includes('Files')
addEventListener('dragover', (event) => {
  if (!carriesFile(event)) return
  event.preventDefault()
  part('finish').classList.add('over')
})
addEventListener('dragleave', (event) => {
  if (event.relatedTarget === null) part('finish').classList.remove('over')
})
addEventListener('drop', (event) => {
  if (!carriesFile(event)) return
  event.preventDefault()
  part('finish').classList.remove('over')
  send(event.dataTransfer.files[0])
})

// Live ---------------------------------------------------------------------------------------------------------

const AGAIN_MS = 5000
let source

function connect() {
  source = new EventSource(api('/stream'))
  const mine = source
  const news = ({ data }) => {
    const status = JSON.parse(data)
    live(isOver(status) ? 'Done' : 'Live', !isOver(status))
    show(status)
    void askReasons(status)
  }
  source.addEventListener('open', () => live('Live', true))
  source.addEventListener('status', news)
  source.addEventListener('done', (event) => {
    mine.close()
    news(event)
  })
  source.addEventListener('deleted', () => {
    mine.close()
    live('Deleted', false)
    write('left', 'This task is no longer kept')
  })
  source.addEventListener('error', () => {
    live('Not live', false)
    // A browser comes again by itself, unless the answer was no stream.
    if (mine === source && mine.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN_MS)
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
