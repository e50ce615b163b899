// Uploads corrected rows, by the button or by dropping a file; and cancels the task after a confirmation.

import { followOn } from './live.js'
import { api, knows, locale, part, say, write } from './page.js'
import { fillDetails } from './phrase.js'

const SECOND_MS = 1000
let isSending = false

export function offerUpload() {
  if (!part('send')) return
  part('file').addEventListener('change', () => send(part('file').files[0]))
  // A file can be dropped anywhere on the page.
  const carriesFile = (event) => !part('finish').hidden && event.dataTransfer?.types.includes('Files')
  const highlight = (isOver) => part('finish').classList.toggle('over', isOver)
  addEventListener('dragover', (event) => {
    if (!carriesFile(event)) return
    event.preventDefault()
    highlight(true)
  })
  addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) highlight(false)
  })
  addEventListener('drop', (event) => {
    if (!carriesFile(event)) return
    event.preventDefault()
    highlight(false)
    send(event.dataTransfer.files[0])
  })
}

export function offerCancel() {
  if (!part('stop')) return
  part('ask').addEventListener('click', () => part('dialog').showModal())
  part('yes').addEventListener('click', stop)
  part('no').addEventListener('click', () => part('dialog').close())
}

async function send(file) {
  if (!file || isSending) return
  isSending = true
  part('send').classList.add('busy')
  write('send-text', say('sending'))
  try {
    const form = new FormData()
    form.append('file', file)
    const answer = await post('/retry', { body: form })
    show([outcome(answer)], answer.rows === 0)
    followOn()
  } catch (error) {
    show(error.lines ?? [say('wrong.other'), error.message], true)
  } finally {
    isSending = false
    part('file').value = ''
    part('send').classList.remove('busy')
    write('send-text', say('send'))
  }
}

/** Words the result of an upload. */
function outcome({ rows, ...others }) {
  const first = rows > 0 ? say('again.rows', { n: rows }) : say('again.none')
  const more = ['unchanged', 'refused', 'finished', 'dropped'].filter((name) => others[name] > 0)
  return [first, ...more.map((name) => say(`again.${name}`, { n: others[name] }))].join(' ')
}

async function stop() {
  part('dialog').close()
  part('ask').disabled = true
  try {
    await post('/cancel')
    followOn()
  } catch (error) {
    write('ask', (error.lines ?? [error.message]).join(' '))
  } finally {
    setTimeout(() => {
      part('ask').disabled = false
    }, SECOND_MS)
  }
}

/** @throws an error with `lines`: the problem in the viewer's language, then, where it has no words, the message of the server */
async function post(rest, init = {}) {
  const response = await fetch(api(rest), { method: 'POST', ...init }).catch(() => {
    throw wrong([say('wrong.offline')])
  })
  const body = await response.json().catch(() => {
    // The answer of a proxy, which may accept smaller files only.
    throw wrong([say(response.status === 413 ? 'wrong.BODY_TOO_LARGE' : 'wrong.other')])
  })
  if (response.ok) return body
  const { code, message, details } = body.error
  const problem = await problemOf(code, details ?? {})
  if (problem !== undefined) throw wrong([problem])
  if (!knows(`wrong.${code}`)) throw wrong([say('wrong.other'), message])
  const said = say(`wrong.${code}`)
  if (code !== 'INVALID_FILE') throw wrong([said])
  // The server's message says more, in English.
  if (document.documentElement.lang.startsWith('en')) throw wrong([said, message])
  throw wrong([
    `${said} ${details?.row === undefined ? say('wrong.saveAgain') : say('wrong.at', { row: details.row })}`,
  ])
}

/** Returns what is wrong with a file in the viewer's language; undefined when there is no text for it. */
async function problemOf(code, details) {
  // Loaded with the first refusal.
  const texts = await import('./file-problems.js').catch(() => ({}))
  const text = texts[locale.split('-')[0]]?.[`${code}.${details.problem}`]
  return text && fillDetails(text, details, locale)
}

const wrong = (lines) => Object.assign(new Error(lines[0]), { lines })

function show([first, detail], isWrong) {
  const message = part('sent-news')
  message.replaceChildren(first)
  if (detail !== undefined) {
    const original = document.createElement('bdi')
    original.lang = 'en'
    original.textContent = detail
    message.append(' ', original)
  }
  message.hidden = false
  message.classList.toggle('wrong', isWrong)
}
