/** Pages that need no dashboard: what went wrong, the way in, and the submitter's. */

import { errorBody } from './answer.ts'

export const HTML = 'text/html; charset=utf-8'

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
}

/** @param root of this API, as the page's own address leads there; head: HTML */
export function frame(title: string, body: string, root: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
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

/** A title and a line below it. */
export function plainPage(title: string, text: string, root: string): string {
  return frame(
    title,
    `<main class="sub-page"><h1>${escaped(title)}</h1><p class="muted">${escaped(text)}</p></main>`,
    root,
  )
}

/** @param isLink whether it was a submitter's link that was opened */
export function errorPage(thrown: unknown, status: number, headers: Headers, root: string, isLink: boolean): Response {
  headers.set('content-type', HTML)
  const opensNothing = isLink && (status === 401 || status === 404)
  const title = opensNothing ? 'This link opens nothing' : 'This does not work just now'
  return new Response(plainPage(title, errorBody(thrown).message, root), { status, headers })
}
