/** Says in the language of the viewer why the server refused a request. */

import { ApiError } from '../api/client.ts'
import { language, t, type Word } from '../i18n/index.ts'

/** Returns a text for the code of an error; undefined for a code without one. */
export function refusalTitle(error: unknown): string | undefined {
  if (!(error instanceof ApiError)) return undefined
  if (error.code === 'UNREACHABLE') return t('error.unreachable')
  return t(`refused.${error.code}` as Word) || undefined
}

/**
 * Returns why a request failed. In English that is the server's message. In another language it is the text for the code of the
 * error; for codes `INVALID_…` the server's message follows in English, because it names what to correct.
 */
export function refusalText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const title = language.value === 'en' ? undefined : refusalTitle(error)
  if (!(error instanceof ApiError) || title === undefined) return message
  return error.code.startsWith('INVALID_') ? `${title}: ${message}` : title
}
