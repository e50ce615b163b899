/** The head of a page: its name, what is to know about it in a line, and what can be done. */

import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'

interface HeadProps {
  title: string
  /** Beside the title. */
  count?: string
  pill?: ComponentChildren
  /** Short facts, each with a dot before it. */
  facts?: ComponentChildren[]
  /** Buttons. */
  children?: ComponentChildren
}

export function Head({ title, count, pill, facts = [], children }: HeadProps) {
  useEffect(() => {
    document.title = `${title} · Highkiq`
  }, [title])
  const said = facts.filter((fact) => fact !== null && fact !== undefined && fact !== false && fact !== '')
  return (
    <div class="head">
      <div class="grow">
        <h1 class="row">
          <bdi class="cut">{title}</bdi>
          {count !== undefined && <span class="count">{count}</span>}
          {pill}
        </h1>
        {said.length > 0 && (
          <p class="meta">
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
