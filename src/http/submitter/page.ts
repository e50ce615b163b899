/**
 * The page of the person who submitted a task. The server writes all of it, so that it tells how far the task is without
 * any script; the script takes the parts that have changed from newer pages.
 */

import { isOver, type TaskStatus } from '../../tasks/task.ts'
import { LANGUAGES } from '../../words/phrase.js'
import { frame } from '../frame.ts'
import type { Reader } from '../reader.ts'
import { correctSection } from './correct.ts'
import { type Acting, finishSection, stopSection } from './finish.ts'
import { data, escaped, fresh, phrase, readable } from './html.ts'
import { percentOf, progressSection } from './progress.ts'
import type { Group } from './reasons.ts'
import { icon, MARK, SYMBOLS } from './symbols.ts'
import { ownWords } from './words/index.ts'

export interface Submitted extends Acting {
  task: TaskStatus
  groups: readonly Group[]
  /** The name of the file that it was made of, where that is known. */
  file: string | undefined
}

const NAME = 200

export function submitterPage(reader: Reader, submitted: Submitted): string {
  const { task, groups, file, token, readOnly } = submitted
  const { id, name, job, state } = task
  const title = `${state === 'done' ? '✓' : percentOf(reader, task)} ${readable(name, NAME)}`
  const own = escaped(JSON.stringify(ownWords(reader.language)))
  const body = `${SYMBOLS}
<main class="sub-page" data-id="${id}" data-words="${own}">
<div class="sub-top"><span class="brand">${MARK}</span><span class="cut grow">${data(job)}</span><span class="live off scripted" data-part="live"><i class="dot"></i><span data-part="live-text"></span></span><button class="btn ghost icon scripted" type="button" data-part="theme" aria-label="${phrase(reader, 'theme')}">${icon('sun')}</button></div>
<h1 ${fresh('name')}>${data(name, NAME)}</h1>
<p class="muted">${sentLine(reader, task, file)}</p>
${progressSection(reader, task)}
${correctSection(reader, task, groups)}
${finishSection(reader, task, submitted)}
${readOnly ? '' : stopSection(reader, task)}
<p class="dim small foot">${phrase(reader, 'foot')}</p>
${languages(reader, token)}
<i hidden ${fresh('over', false, 'shell')} data-n="${isOver(task) ? 1 : 0}"></i>
</main>`
  const script = '\n<script type="module" src="../assets/submitter.js"></script>'
  return frame(title, body, '..', { head: script, reader })
}

function sentLine(reader: Reader, { createdAt, name }: TaskStatus, file: string | undefined): string {
  const exact = createdAt.toLocaleString(reader.locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  const when = `<time datetime="${createdAt.toISOString()}" data-part="sent">${escaped(exact)} UTC</time>`
  if (file === undefined || file === name) return phrase(reader, 'sent', {}, { when })
  return phrase(reader, 'sentFile', {}, { when, file: data(file, NAME) })
}

/** Links, so that they need no script: what is chosen is kept in a cookie. */
function languages(reader: Reader, token: string | null): string {
  const links = Object.entries(LANGUAGES).map(([tag, name]) => {
    const search = new URLSearchParams({ ...(token === null ? {} : { token }), lang: tag })
    const isThis = tag === reader.language ? ' aria-current="true"' : ''
    return `<a href="?${escaped(String(search))}" lang="${tag}" hreflang="${tag}"${isThis}>${name}</a>`
  })
  return `<nav class="languages" aria-label="${phrase(reader, 'language')}">${links.join('')}</nav>`
}
