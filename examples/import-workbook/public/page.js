// The page of who imports a workbook: it uploads, watches, and takes corrections back.

import { createClient } from './client.js'

const api = createClient()
const SHOWN = 20
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
const at = (id) => document.getElementById(id)
const n = (number) => number.toLocaleString('en')

at('upload').addEventListener('submit', async (event) => {
  event.preventDefault()
  const [file] = at('workbook').files
  const form = new FormData()
  form.append('file', file)
  // The header is there as soon as the first rows are stored, the body when the last one is.
  const response = await fetch('api/v1/tasks/import?job=ImportProduct', { method: 'POST', body: form })
  const id = response.headers.get('task-id')
  if (id) {
    location.hash = id
    watch(id)
  }
  const { error } = await response.json()
  if (error) say(id ? `The file broke off: ${error.message}` : error.message)
})

at('back').addEventListener('submit', async (event) => {
  event.preventDefault()
  const id = location.hash.slice(1)
  const body = at('corrected').files[0]
  const response = await fetch(`imports/${id}/corrected`, { method: 'POST', body, headers: { 'content-type': XLSX } })
  const { error } = await response.json()
  if (error) return say(error.message)
  at('back').reset()
  watch(id)
})

let source

function watch(id) {
  source?.close()
  at('report').href = `api/v1/tasks/${id}/report?format=xlsx`
  source = new EventSource(`api/v1/tasks/${id}/stream`)
  source.addEventListener('status', ({ data }) => show(JSON.parse(data)))
  source.addEventListener('done', ({ data }) => {
    source.close()
    show(JSON.parse(data))
  })
}

function say(text) {
  at('progress').hidden = false
  at('so-far').textContent = text
}

function show(status) {
  const { finished, failed, error } = status.counts
  const refused = failed + error
  const ended = status.state === 'done' ? 'Done.' : `${Math.floor(status.ratePerSecond)} a second.`
  at('bar').value = status.percent
  say(`${n(finished)} of ${n(status.total)} products are in the catalogue, ${n(refused)} refused. ${ended}`)
  at('refused').hidden = refused === 0
  void showReasons(status, refused)
}

let asked

async function showReasons({ id, run }, refused) {
  const now = `${id} ${run} ${refused}`
  if (asked === now || refused === 0) return
  asked = now
  const query = { status: 'failed,error', limit: SHOWN }
  const { items } = await api.get('/api/v1/tasks/{id}/events', { path: { id }, query })
  const rows = items.map(({ number, messages }) => cells(n(number), messages.at(-1).text))
  if (refused > SHOWN) rows.push(cells('', `… and ${n(refused - SHOWN)} more, in the workbook below`))
  at('rows').replaceChildren(...rows)
}

function cells(...texts) {
  const row = document.createElement('tr')
  for (const text of texts) row.insertCell().textContent = text
  return row
}

if (location.hash) watch(location.hash.slice(1))
