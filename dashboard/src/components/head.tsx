/** The head of a page: its name, what is to know about it in a line, and what can be done. */

import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'

/** Of the page that is shown. */
export const title = signal('')

interface HeadProps {
  title: string
  /** Beside the title. */
  count?: string
  pill?: ComponentChildren
  /** Short facts, each with a dot before it; null or undefined where one is not known yet. */
  facts?: ComponentChildren[]
  /** Buttons. */
  children?: ComponentChildren
}

export function Head({ title: name, count, pill, facts = [], children }: HeadProps) {
  useEffect(() => {
    document.title = `${name} · Highkiq`
    title.value = name
    return () => {
      title.value = ''
    }
  }, [name])
  const known = facts.filter((fact) => fact !== null && fact !== undefined)
  const said = known.filter((fact) => fact !== false && fact !== '')
  return (
    <div class="head">
      <div class="grow">
        <h1 class="row">
          <bdi class="cut">{name}</bdi>
          {count !== undefined && <span class="count">{count}</span>}
          {pill}
        </h1>
        {(said.length > 0 || known.length < facts.length) && (
          <p class="meta">
            {said.length === 0 && <span>&nbsp;</span>}
            {said.map((fact, i) => (
              <span key={i}>{fact}</span>
            ))}
          </p>
        )}
      </div>
      {children && <div class="acts">{children}</div>}
    </div>
  )
}
