/** Pages that need no dashboard: what went wrong, the way in, and the submitter's. */

import { errorBody } from './answer.ts'
import type { Reader } from './reader.ts'
import { escaped } from './submitter/html.ts'

export { escaped }

export const HTML = 'text/html; charset=utf-8'

interface Around {
  /** HTML */
  head?: string
  /** Whose language it is in; default English. */
  reader?: Reader
}

/** @param root of this API, as the page's own address leads there */
export function frame(title: string, body: string, root: string, { head = '', reader }: Around = {}): string {
  const theme = reader?.theme === undefined ? '' : ` data-theme="${reader.theme}"`
  return `<!doctype html>
<html lang="${reader?.locale ?? 'en'}"${theme}>
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
export function plainPage(title: string, text: string, root: string, reader?: Reader): string {
  return frame(
    title,
    `<main class="sub-page"><h1>${escaped(title)}</h1><p class="muted">${escaped(text)}</p></main>`,
    root,
    { ...(reader ? { reader } : {}) },
  )
}

/** @param isLink whether it was a submitter's link that was opened */
export function errorPage(
  thrown: unknown,
  status: number,
  { headers, root, reader, isLink }: { headers: Headers; root: string; reader: Reader; isLink: boolean },
): Response {
  headers.set('content-type', HTML)
  const opensNothing = isLink && (status === 401 || status === 404)
  const page = opensNothing
    ? plainPage(reader.say('dead.title'), reader.say('dead.what'), root, reader)
    : plainPage(reader.say('broken.title'), errorBody(thrown).message, root, reader)
  return new Response(page, { status, headers })
}
