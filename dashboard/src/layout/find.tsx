/**
 * Ctrl K finds a page, a queue, an ordered queue, a task, a batch, a cron entry or a class. It also finds jobs by a jid, a text or
 * an argument, and shows their number in each state.
 */

import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { ask } from '../api/client.ts'
import type { Batch, CronEntry, JobCounts, OrderedQueue, Page, TaskStatus } from '../api/types.ts'
import { at, encoded, queryValue } from '../base.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { useModal } from '../components/modal.ts'
import { number } from '../format/number.ts'
import { t } from '../i18n/index.ts'
import { useQueueNames } from '../live/queues.ts'
import { useData } from '../live/use-data.ts'
import { argumentOf, STATES } from '../pages/jobs/filter.ts'
import { LINKS } from './links.ts'

const isOpen = signal(false)

export function openFinder(): void {
  isOpen.value = true
}

interface Hit {
  icon: IconName
  title: string
  about: string
  to: string
}

const MOST_HITS = 12
/** The most queues, the most tasks and so on: none hides the others. */
const MOST_OF_A_KIND = 5
/** The server is asked after this pause in typing; jobs are counted from this many characters on. */
const TYPED_MS = 250
const SHORTEST = 2

export function Finder() {
  return isOpen.value ? <Palette /> : null
}

function Palette() {
  const dialog = useModal()
  const { route } = useLocation()
  const [text, setText] = useState('')
  // The address of the match that the arrows have reached: it stays chosen when others arrive.
  const [reached, setReached] = useState<string>()
  const queues = useQueueNames()
  const wanted = text.trim()
  const counted = useTyped(wanted, SHORTEST, countJobs)
  const tasks = useTyped(wanted, 0, findTasks)?.answer ?? []
  const batches = useTyped(wanted, SHORTEST, findBatches)?.answer ?? []
  const counts = counted?.text === wanted ? counted.answer : undefined
  const crons = useData<Page<CronEntry>>('/cron', {}, { live: false }).data?.items ?? []
  const ordered = useData<Page<OrderedQueue>>('/ordered', {}, { live: false }).data?.items ?? []
  const known = [
    ...[queues.map(queueHit), tasks.map(taskHit), batches.map(batchHit)],
    ...[ordered.map(orderedHit), crons.map(cronHit)],
  ]
  const hits = hitsOf(wanted, known, counts)
  const chosen = Math.max(
    hits.findIndex(({ to }) => to === reached),
    0,
  )
  useEffect(() => document.getElementById(`hit-${chosen}`)?.scrollIntoView({ block: 'nearest' }), [chosen])
  const close = () => {
    isOpen.value = false
  }
  const go = (hit: Hit | undefined) => {
    if (!hit) return
    close()
    route(at(hit.to))
  }
  return (
    <dialog ref={dialog} class="dialog finder" aria-label={t('find.open')} onClose={close}>
      <label class="search">
        <Icon name="search" />
        <span class="vh">{t('find.open')}</span>
        <input
          type="search"
          autofocus
          value={text}
          placeholder={t('find.hint')}
          aria-controls="find-hits"
          aria-activedescendant={hits[chosen] ? `hit-${chosen}` : undefined}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setReached(undefined)
          }}
          onKeyDown={(event) => {
            // Enter and the arrows belong to an input method while it composes a word.
            if (event.isComposing) return
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
            if (step !== undefined) {
              event.preventDefault()
              setReached(hits[Math.min(Math.max(chosen + step, 0), hits.length - 1)]?.to)
            } else if (event.key === 'Enter') go(hits[chosen])
          }}
        />
      </label>
      <div id="find-hits" class="hits" role="listbox" aria-label={t('find.open')}>
        {hits.map((hit, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field that has the focus handles the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
          <div key={hit.to} id={`hit-${i}`} role="option" aria-selected={i === chosen} onClick={() => go(hit)}>
            <Icon name={hit.icon} />
            <bdi class="cut grow">{hit.title}</bdi>
            <span class="dim">{hit.about}</span>
          </div>
        ))}
      </div>
      {hits.length === 0 && <p class="dim">{t('find.nothing')}</p>}
    </dialog>
  )
}

/** Asks for a text after a pause in typing. Returns the last answer and its text; undefined before there is one. */
function useTyped<Answer>(
  text: string,
  shortest: number,
  load: (text: string, signal: AbortSignal) => Promise<Answer>,
): { text: string; answer: Answer } | undefined {
  const [last, setLast] = useState<{ text: string; answer: Answer }>()
  useEffect(() => {
    if (text.length < shortest) return
    const stop = new AbortController()
    const timer = setTimeout(
      () => {
        load(text, stop.signal).then(
          (answer) => setLast({ text, answer }),
          // Without an answer the other places can still be found.
          () => {},
        )
      },
      text === '' ? 0 : TYPED_MS,
    )
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [text, shortest, load])
  return last
}

function countJobs(text: string, signal: AbortSignal): Promise<JobCounts> {
  return ask<JobCounts>('/jobs/counts', filterFor(text), signal)
}

/** Returns the newest tasks whose name contains a text, among all tasks; and the task of that id. */
async function findTasks(text: string, signal: AbortSignal): Promise<TaskStatus[]> {
  const byName = ask<Page<TaskStatus>>('/tasks', { search: text, limit: MOST_OF_A_KIND }, signal)
  const byId = /^[0-9a-f]{16}$/.test(text) ? ask<TaskStatus>(`/tasks/${text}`, {}, signal).catch(() => null) : null
  const [task, { items }] = await Promise.all([byId, byName])
  return task ? [task, ...items] : items
}

/** Returns the newest batches and flows whose description contains a text. */
async function findBatches(search: string, signal: AbortSignal): Promise<Batch[]> {
  return (await ask<Page<Batch>>('/batches', { search, limit: MOST_OF_A_KIND }, signal)).items
}

const queueHit = (name: string): Hit => {
  return { icon: 'queues', title: name, about: t('find.queue'), to: `/queues/${encoded(name)}` }
}

const taskHit = ({ id, name }: TaskStatus): Hit => ({ icon: 'tasks', title: name, about: id, to: `/tasks/${id}` })

const batchHit = ({ bid, description }: Batch): Hit => {
  return { icon: 'tasks', title: description ?? bid, about: t('batches.batch'), to: `/batches/${bid}` }
}

const orderedHit = ({ name }: OrderedQueue): Hit => {
  return { icon: 'ordered', title: name, about: t('find.ordered'), to: `/ordered/${encoded(name)}` }
}

const cronHit = ({ name }: CronEntry): Hit => {
  return { icon: 'cron', title: name, about: t('find.cron'), to: `/cron?entry=${queryValue(name)}` }
}

/** Reads `customer = 4711` as an argument, and anything else as a text. */
function filterFor(text: string): Record<string, string> {
  return argumentOf(text) ?? { search: text }
}

/** Returns the jobs of all states, and of each state in which some match. */
function jobHits(text: string, counts: JobCounts | undefined): Hit[] {
  const hit = (about: string, filter: Record<string, string>): Hit => {
    const search = Object.entries(filter).map(([name, value]) => `${queryValue(name)}=${queryValue(value)}`)
    return { icon: 'search', title: text, about, to: `/jobs?${search.join('&')}` }
  }
  const filter = filterFor(text)
  const isText = 'search' in filter
  const found = counts?.items.filter(({ matching }) => matching > 0) ?? []
  // The first one stays where it is when the counts arrive.
  return [
    hit(t(isText ? 'find.inJobs' : 'find.argument'), filter),
    ...found.map(({ state, matching, complete }) => {
      const n = `${number(matching)}${complete ? '' : '+'}`
      return hit(t('find.found', { state: t(STATES[state]), n }), { state, ...filter })
    }),
    ...(isText ? [] : [hit(t('find.inJobs'), { search: text })]),
  ]
}

/** @param known the hits of each kind */
function hitsOf(text: string, known: readonly Hit[][], counts: JobCounts | undefined): Hit[] {
  const links = LINKS.flat().map(({ icon, title, path }) => ({
    icon,
    title: t(title),
    about: t('find.page'),
    to: path,
  }))
  const wanted = text.toLowerCase()
  const isMatch = ({ title, to }: Hit) =>
    title.toLowerCase().includes(wanted) || (wanted.length >= 4 && to.toLowerCase().includes(wanted))
  const some = known.map((hits) => hits.filter(isMatch).slice(0, MOST_OF_A_KIND))
  const matching = [...links.filter(isMatch), ...some.flat()]
  if (text === '') return matching.slice(0, MOST_HITS)
  const job = { icon: 'search' as const, title: text, about: t('find.job'), to: `/jobs/${encoded(text)}` }
  const others = [
    ...jobHits(text, counts),
    { icon: 'metrics' as const, title: text, about: t('find.class'), to: `/metrics/${encoded(text)}` },
  ]
  // The id of a batch looks like that of a task.
  const batch = { icon: 'tasks' as const, title: text, about: t('find.batch'), to: `/batches/${text}` }
  if (/^[0-9a-f]{16}$/.test(text)) others.push(batch)
  const isJid = /^[0-9a-f]{16,}(-\d+)?$/i.test(text)
  return (isJid ? [job, ...matching, ...others] : [...matching, ...others, job]).slice(0, MOST_HITS)
}
