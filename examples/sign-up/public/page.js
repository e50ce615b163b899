// The page of who signs products up: it submits, watches, and corrects what was refused.

const at = (id) => document.getElementById(id)
const FIELDS = ['sku', 'name', 'price']

// Submit -------------------------------------------------------------------------------------------------------

at('example').addEventListener('click', () => {
  const lines = Array.from({ length: 200 }, (_, n) => {
    const sku = n % 40 === 39 ? `kl${n}` : `KL-${1000 + n}`
    const price = n % 25 === 24 ? '12,5O' : (4.5 + n / 10).toFixed(2)
    return `${sku}, ${n % 50 === 10 ? '' : `Product ${n + 1}`}, ${price}`
  })
  at('products').value = lines.join('\n')
})

at('form').addEventListener('submit', async (event) => {
  event.preventDefault()
  const lines = at('products')
    .value.split('\n')
    .filter((line) => line.trim() !== '')
  const args = lines.map((line) => [productOf(line)])
  const { id } = await post('api/v1/tasks', { job: 'SignUpProduct', name: `${args.length} products`, args })
  // The address is what one comes back to.
  location.hash = id
  watch(id)
})

function productOf(line) {
  const [sku = '', name = '', ...price] = line.split(',').map((part) => part.trim())
  return { sku, name, price: price.join(',') }
}

async function post(url, body) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const answer = await response.json()
  if (response.ok) return answer
  at('so-far').textContent = answer.error?.message ?? `This did not work (${response.status})`
  throw new Error(at('so-far').textContent)
}

// Watch --------------------------------------------------------------------------------------------------------

let source

function watch(id) {
  source?.close()
  at('rows').replaceChildren()
  at('progress').hidden = false
  source = new EventSource(`api/v1/tasks/${id}/stream`)
  source.addEventListener('status', ({ data }) => show(JSON.parse(data)))
  source.addEventListener('done', ({ data }) => {
    source.close()
    show(JSON.parse(data))
  })
}

function show(status) {
  const { finished, failed, error } = status.counts
  at('bar').value = status.percent
  const refused = failed + error
  const so = status.state === 'done' ? 'That is all of them.' : 'You can close this page and come back.'
  at('so-far').textContent = `${finished} of ${status.total} are signed up, ${refused} refused. ${so}`
  at('refused').hidden = refused === 0
  void showRefused(status)
}

let asked

/** The rows that were refused, with their reasons; those that a person is correcting stay as they are. */
async function showRefused({ id, run, counts }) {
  const now = `${id} ${run} ${counts.failed + counts.error}`
  if (asked === now) return
  asked = now
  const response = await fetch(`api/v1/tasks/${id}/events?status=failed,error&limit=500`)
  const { items } = await response.json()
  for (const event of items) {
    if (!at(`row-${event.index}`)) at('rows').append(rowOf(event))
  }
}

function rowOf({ index, args: [product], messages }) {
  const row = document.createElement('tr')
  row.id = `row-${index}`
  row.dataset.index = index
  row.insertCell().textContent = index + 1
  for (const field of FIELDS) {
    const input = document.createElement('input')
    input.name = field
    input.value = product[field]
    input.setAttribute('aria-label', `${field} of row ${index + 1}`)
    row.insertCell().append(input)
  }
  row.insertCell().textContent = messages.at(-1).text
  return row
}

// Correct ------------------------------------------------------------------------------------------------------

at('again').addEventListener('click', async () => {
  const corrections = [...at('rows').rows].map((row) => ({
    index: Number(row.dataset.index),
    product: Object.fromEntries(FIELDS.map((field) => [field, row.querySelector(`[name=${field}]`).value.trim()])),
  }))
  const id = location.hash.slice(1)
  await post(`sign-ups/${id}/corrections`, corrections)
  watch(id)
})

if (location.hash) watch(location.hash.slice(1))
