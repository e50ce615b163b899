// Sets the widths of bars, which the policy of the page keeps out of its markup, and shows local times.

import { locale, part, say } from './page.js'

const YEAR_SECONDS = 365 * 86_400

export function drawBars() {
  for (const piece of document.querySelectorAll('[data-n]')) piece.style.setProperty('--n', piece.dataset.n)
  for (const meter of document.querySelectorAll('[data-v]')) meter.style.setProperty('--v', meter.dataset.v)
  part('bar').classList.add('drawn')
}

/** Toggles the theme. A cookie keeps it for the next page from the server. */
export function followTheme() {
  const root = document.documentElement
  part('theme').addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
    root.dataset.theme = dark ? 'light' : 'dark'
    const { pathname } = new URL('..', location.href)
    // biome-ignore lint/suspicious/noDocumentCookie: cookieStore is not in every browser, and not without TLS
    document.cookie = `highkiq_theme=${root.dataset.theme}; Path=${pathname}; Max-Age=${YEAR_SECONDS}; SameSite=Lax`
  })
}

/** Shows how long ago, and the exact time in the viewer's time zone. */
export function followAge() {
  const sent = part('sent')
  const at = new Date(sent.dateTime)
  sent.title = at.toLocaleString(locale, { dateStyle: 'long', timeStyle: 'medium' })
  const show = () => {
    const minutes = Math.round((Date.now() - at) / 60_000)
    const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
    const [n, unit] =
      minutes < 60
        ? [minutes, 'minute']
        : minutes < 2880
          ? [Math.round(minutes / 60), 'hour']
          : [Math.round(minutes / 1440), 'day']
    sent.textContent = minutes < 1 ? say('sent.now') : relative.format(-n, unit)
  }
  show()
  setInterval(show, 60_000)
}
