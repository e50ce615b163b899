/** The HTML around pages that the server writes itself: errors, the login form and the submitter's page. */

import { errorBody } from './answer.ts'
import type { Viewer } from './viewer.ts'

export const HTML = 'text/html; charset=utf-8'

export const LOGO = `<svg viewBox="0 0 24 24" aria-hidden="true"><rect width="24" height="24" rx="6" class="ground"/><path d="M8 18.5V5.5M8 14l8.5-8M11.2 11l4.3 7.5" fill="none" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/></svg>`

interface PageOptions {
  /** HTML */
  head?: string
  /** Gives the language and theme; default English. */
  viewer?: Viewer | undefined
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
}

/** @param root the path from the page to the root of this API */
export function htmlPage(title: string, body: string, root: string, { head = '', viewer }: PageOptions = {}): string {
  const theme = viewer?.theme === undefined ? '' : ` data-theme="${viewer.theme}"`
  return `<!doctype html>
<html lang="${viewer?.locale ?? 'en'}"${theme}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${escaped(root)}/assets/submitter.css">${head}
</head>
<body>
${body}
</body>
</html>
`
}

/** Returns the answer with a page in the viewer's language. */
export function pageAnswer(page: string, viewer: Viewer): Response {
  const headers = new Headers({ 'content-type': HTML, 'content-language': viewer.language })
  if (viewer.cookie) headers.set('set-cookie', viewer.cookie)
  return new Response(page, { headers })
}

/** Returns a page with a title and one line. */
export function plainPage(title: string, text: string, root: string, viewer?: Viewer): string {
  const body = `<main class="sub-page"><h1>${escaped(title)}</h1><p class="muted">${escaped(text)}</p></main>`
  return htmlPage(title, body, root, { viewer })
}

interface ErrorPageOptions {
  headers: Headers
  root: string
  viewer: Viewer
  /** True when a submitter's link was opened. */
  isLink: boolean
  /** False for a caller without a login, who does not see why the server failed, or refuses a link. */
  isOperator: boolean
}

export function errorPage(
  thrown: unknown,
  status: number,
  { headers, root, viewer, isLink, isOperator }: ErrorPageOptions,
): Response {
  headers.set('content-type', HTML)
  const opensNothing = isLink && (status === 401 || status === 404)
  // Only an operator can do what the message of a refusal advises: give the server a login.
  const isHidden = !isOperator && (status >= 500 || (isLink && status === 403))
  const page = opensNothing
    ? plainPage(viewer.say('dead.title'), viewer.say('dead.what'), root, viewer)
    : plainPage(
        viewer.say('broken.title'),
        isHidden ? viewer.say('broken.what') : errorBody(thrown).message,
        root,
        viewer,
      )
  return new Response(page, { status, headers })
}
