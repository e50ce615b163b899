/** The page of the person who submitted a task. It tells how far the task is also without JavaScript; with it, live. */

import { count, plural } from '../job/plural.ts'
import type { TaskStatus } from '../tasks/task.ts'
import { assets } from './assets.generated.ts'
import { escaped, frame, HTML } from './frame.ts'
import { type Route, route } from './route.ts'
import { statusOf } from './task.ts'

export const PAGE_ROUTES: Route[] = [
  route({
    method: 'GET',
    path: '/tasks/{id}',
    summary: 'The page of who submitted a task: who has its link; the dashboard for others',
    page: true,
    access: 'task',
    answers: { 200: { description: 'The page', content: { 'text/html': {} } } },
    async run({ hq, site, base, path, url, byLink }) {
      if (!byLink) return site.dashboard.page(base)
      const page = pageOf(await statusOf(hq, path), url.searchParams.get('token'))
      return new Response(page, { headers: { 'content-type': HTML } })
    },
  }),
  ...Object.entries(assets).map(([name, text]) =>
    route({
      method: 'GET',
      path: `/assets/${name}`,
      summary: 'What the page needs',
      page: true,
      access: 'all',
      answers: { 200: { description: 'The file', content: {} } },
      run() {
        const type = name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8'
        return new Response(text, { headers: { 'content-type': type, 'cache-control': 'no-cache' } })
      },
    }),
  ),
  route({
    method: 'GET',
    path: '/assets/{file}',
    summary: 'What the dashboard needs',
    page: true,
    access: 'all',
    answers: { 200: { description: 'The file', content: {} } },
    run: ({ site, base, path, request }) => site.dashboard.file(base, path.file ?? '', request),
  }),
]

/** Every place of the dashboard is one page. */
export const APP_ROUTE: Route = route({
  method: 'GET',
  path: '/',
  summary: 'The dashboard',
  page: true,
  answers: { 200: { description: 'The page', content: { 'text/html': {} } } },
  run: ({ site, base }) => site.dashboard.page(base),
})

const SYMBOLS = `<svg width="0" height="0" class="defs" aria-hidden="true">
<symbol id="i-sun" viewBox="0 0 16 16"><circle cx="8" cy="8" r="2.8"/><path d="M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9"/></symbol>
<symbol id="i-download" viewBox="0 0 16 16"><path d="M8 2.5v7.5M5 7.2 8 10.2l3-3M3 13.2h10"/></symbol>
<symbol id="i-upload" viewBox="0 0 16 16"><path d="M8 10.5V3M5 5.8l3-3 3 3M3 13.2h10"/></symbol>
<symbol id="s-enqueued" viewBox="0 0 14 14"><circle cx="7" cy="7" r="5.25" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.2 1.92"/></symbol>
<symbol id="s-finished" viewBox="0 0 14 14"><circle cx="7" cy="7" r="6" fill="currentColor"/><path d="m4.4 7.2 1.8 1.8 3.4-3.8" fill="none" stroke="var(--surface)" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"/></symbol>
<symbol id="s-failed" viewBox="0 0 14 14"><path d="M7 .9 13.1 7 7 13.1.9 7z" fill="currentColor" stroke="currentColor" stroke-width="1" stroke-linejoin="round"/><path d="M4.8 7h4.4" stroke="var(--surface)" stroke-width="1.6" stroke-linecap="round"/></symbol>
<symbol id="s-error" viewBox="0 0 14 14"><path d="M4.5 1h5L13 4.5v5L9.5 13h-5L1 9.5v-5z" fill="currentColor"/><path d="m5 5 4 4M9 5 5 9" stroke="var(--surface)" stroke-width="1.5" stroke-linecap="round"/></symbol>
<symbol id="s-cancelled" viewBox="0 0 14 14"><circle cx="7" cy="7" r="5.25" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M3.4 10.6 10.6 3.4" stroke="currentColor" stroke-width="1.5"/></symbol>
</svg>`

const MARK = `<svg viewBox="0 0 24 24" aria-hidden="true"><rect width="24" height="24" rx="6" class="ground"/><path d="M8 18.5V5.5M8 14l8.5-8M11.2 11l4.3 7.5" fill="none" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/></svg>`

/** What each status means to who sent the rows. */
const TALLY: [status: string, title: string, meaning: string][] = [
  ['finished', 'Done', 'Nothing more to do for these rows'],
  ['failed', 'Need a correction', 'See below what to change'],
  ['error', 'Stopped by a fault on our side', 'We look into it; nothing to do for you'],
  ['enqueued', 'Still waiting', 'You can close this page and come back'],
  ['cancelled', 'Not run', 'These rows were stopped'],
]

/** Why it stands still or was stopped. */
function why({ state, reason }: TaskStatus): string {
  if (state === 'paused')
    return `Paused: ${reason ?? 'whoever runs this has stopped it for now'}. What waits goes on when it is resumed.`
  return reason === undefined || state === 'done' ? '' : `Stopped: ${reason}`
}

function pageOf(task: TaskStatus, token: string | null): string {
  const { id, name, job, state, total, counts, percent, createdAt } = task
  const rows = (n: number) => plural(n, 'row')
  const open = counts.enqueued + counts.working
  const rejected = counts.failed + counts.error + counts.cancelled
  const hidden = (isHidden: boolean) => (isHidden ? ' hidden' : '')
  const shown: Record<string, number> = { ...counts, enqueued: open }
  const tally = TALLY.map(
    ([status, title, meaning]) =>
      `<li class="${status}"${hidden(shown[status] === 0 && status !== 'finished')}><svg viewBox="0 0 14 14" aria-hidden="true"><use href="#s-${status}"/></svg><span>${title}<p>${meaning}</p></span><span class="n" data-part="${status}">${count(shown[status] ?? 0)}</span></li>`,
  )
  const bar = ['finished', 'failed', 'error', 'working', 'enqueued', 'cancelled'].map(
    (status) => `<i class="${status}"></i>`,
  )
  const format = /\.xls[xm]$/i.test(name) ? 'xlsx' : 'csv'
  const report = `../api/v1/tasks/${id}/report?format=${format}${token === null ? '' : `&token=${encodeURIComponent(token)}`}`
  const body = `${SYMBOLS}
<main class="sub-page" data-id="${id}">
<div class="sub-top"><span class="brand">${MARK}</span><span class="cut grow">${escaped(job)}</span><span class="live off" data-part="live"><i class="dot"></i><span data-part="live-text">${escaped(state)}</span></span><button class="btn ghost icon" type="button" data-part="theme" aria-label="Light or dark" hidden><svg class="i" aria-hidden="true"><use href="#i-sun"/></svg></button></div>
<h1>${escaped(name)}</h1>
<p class="muted">sent <time datetime="${createdAt.toISOString()}" data-part="sent">${createdAt.toUTCString()}</time></p>
<section class="card" aria-label="Progress"><div class="in">
<div class="big" data-part="done">${count(total - open)}</div><div class="of" data-part="of">of ${rows(total)} ${total === 1 ? 'is' : 'are'} done</div>
<div class="bar" role="img" data-part="bar">${bar.join('')}</div>
<p class="muted small" data-part="why"${hidden(why(task) === '')}>${escaped(why(task))}</p>
<div class="times"><b class="b" data-part="left">${escaped(state)}</b><span class="muted" data-part="percent">${Math.floor(percent)}%</span></div>
</div>
<ul class="tally">${tally.join('\n')}</ul></section>
<section class="card" data-part="fix"${hidden(counts.failed === 0)}><div class="in fix-h"><h2>What to correct</h2><p class="muted small" data-part="reasons-of">${rows(counts.failed)}</p></div>
<ul class="fix" data-part="reasons"></ul></section>
<section class="card" data-part="finish"${hidden(counts.failed + counts.cancelled === 0)}><div class="in"><h2>Finish the rest</h2>
<ol class="steps"><li>Download the rows that were refused. The reason stands beside each.</li><li>Correct them in that file.</li><li data-part="send-step" hidden>Send it back. Only these rows run again; nothing is done twice.</li></ol>
<div class="duo"><a class="btn primary" href="${escaped(report)}" download><svg class="i" aria-hidden="true"><use href="#i-download"/></svg><span data-part="download">Download ${rows(rejected)}</span></a>
<label class="btn" data-part="send" hidden><svg class="i" aria-hidden="true"><use href="#i-upload"/></svg><span data-part="send-text">Send corrected file</span><input type="file" data-part="file" accept=".csv,.xlsx,.xlsm,.ndjson,.jsonl,.txt"></label></div>
<p class="small gap" role="status" data-part="sent-news" hidden></p>
<p class="dim small gap" data-part="more"${hidden(open === 0)}>Rows are still being worked on: more may be refused. The file always holds all of them up to now.</p>
</div></section>
<div class="stop" data-part="stop" hidden><button class="btn ghost" type="button" data-part="ask">Stop this…</button></div>
<dialog class="card" data-part="dialog" aria-labelledby="ask-title"><h2 id="ask-title" data-part="ask-title">Stop?</h2>
<p class="muted">What is done stays done. Rows that wait are not run; they can be sent again later.</p>
<div class="duo"><button class="btn danger" type="button" data-part="yes">Stop</button><button class="btn" type="button" data-part="no" autofocus>Go on with them</button></div>
</dialog>
<p class="dim small foot">This link shows this task alone.</p>
</main>`
  return frame(name, body, '..', '\n<script type="module" src="../assets/submitter.js"></script>')
}
