/** Says in the language of the viewer why the server refused a request. */

import { ApiError } from '../api/client.ts'
import { refusalPhrase, t } from '../i18n/index.ts'

/** Returns a text for the code of an error; undefined for a code without one. */
export function refusalTitle(error: unknown): string | undefined {
  if (!(error instanceof ApiError)) return undefined
  if (error.code === 'NO_ANSWER') return t('error.noAnswer')
  return error.code === 'UNREACHABLE' ? t('error.unreachable') : refusalPhrase(error.code)
}

/** Returns what the refusal is about and what to do; undefined for a refusal that only the message of the server explains. */
export function refusalDetail({ code, details }: ApiError): string | undefined {
  if (code === 'NO_ANSWER') return t('error.noAnswer.what')
  return refusalPhrase(`${code}.${details.problem}`, details) ?? refusalPhrase(`${code}.what`, details)
}

/** Returns why a request failed, in one text. Without a text in the language of the viewer it has the server's message. */
export function refusalText(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error)
  const title = refusalTitle(error)
  // The message of the browser says nothing more than that.
  if (error.code === 'UNREACHABLE' && title !== undefined) return title
  const detail = refusalDetail(error) ?? error.message
  return title === undefined ? detail : `${title}: ${detail}`
}
