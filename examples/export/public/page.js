// The page of who exports: it begins an export, watches it, and gives its file.

const at = (id) => document.getElementById(id)

for (const button of document.querySelectorAll('[data-format]')) {
  button.addEventListener('click', async () => {
    const { format } = button.dataset
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`exports/${format}`, { method: 'POST', headers, body: '{}' })
    const { id, error } = await response.json()
    if (error) return say(error.message)
    location.hash = id
    watch(id)
  })
}

let source

function watch(id) {
  source?.close()
  // What is downloaded is what the task makes, under its name, and is never whole in memory.
  at('file').href = `api/v1/tasks/${id}/download?wait=1`
  source = new EventSource(`api/v1/tasks/${id}/stream`)
  source.addEventListener('status', ({ data }) => show(JSON.parse(data)))
  source.addEventListener('done', ({ data }) => {
    source.close()
    show(JSON.parse(data))
  })
}

function show({ name, state, percent, total, counts, etaSeconds, reason }) {
  at('bar').value = percent
  const left = etaSeconds === null || state === 'done' ? '' : ` About ${Math.ceil(etaSeconds)} s left.`
  const end = state === 'done' ? ' The file is whole.' : ` ${state}${reason ? `: ${reason}` : ''}.${left}`
  say(`${name}: ${counts.finished} of ${total} pages are made.${end}`)
}

function say(text) {
  at('progress').hidden = false
  at('so-far').textContent = text
}

if (location.hash) watch(location.hash.slice(1))
