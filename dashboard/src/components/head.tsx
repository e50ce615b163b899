/** The head of a page: its title, facts about it, and its actions. */

import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { liveStats } from '../live/live-stats.ts'
import { showInTab } from './tab.ts'

/**
 * The title of the open page. Only the next page replaces it: the router may remove a page after the next one has set
 * its title.
 */
export const title = signal('')

interface HeadProps {
  title: string
  /** Shown beside the title. */
  count?: string
  pill?: ComponentChildren
  /** Short facts, separated by dots. Unknown facts are null or undefined. */
  facts?: ComponentChildren[]
  /** The action buttons. */
  children?: ComponentChildren
}

export function Head({ title: name, count, pill, facts = [], children }: HeadProps) {
  const alerts = liveStats.value?.alerts.length ?? 0
  useEffect(() => {
    title.value = name
  }, [name])
  useEffect(() => showInTab(name, alerts), [name, alerts])
  const known = facts.filter((fact) => fact !== null && fact !== undefined)
  const shown = known.filter((fact) => fact !== false && fact !== '')
  return (
    <div class="head">
      <div class="grow">
        <h1 class="row">
          <bdi class="cut">{name}</bdi>
          {count !== undefined && <span class="count">{count}</span>}
          {pill}
        </h1>
        {(shown.length > 0 || known.length < facts.length) && (
          <p class="meta">
            {shown.length === 0 && <span>&nbsp;</span>}
            {shown.map((fact, i) => (
              <span key={i}>{fact}</span>
            ))}
          </p>
        )}
      </div>
      {children && <div class="actions">{children}</div>}
    </div>
  )
}
