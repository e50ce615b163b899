/** Notices in place of content: why there is none, and what to do next. */

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ApiError } from '../api/client.ts'
import { refusalDetail, refusalTitle } from '../format/refusal.ts'
import { t } from '../i18n/index.ts'
import { Icon, type IconName, StatusIcon } from './icon.tsx'

interface EmptyProps {
  icon: IconName
  title: string
  children?: ComponentChildren
  /** Buttons and links. */
  actions?: ComponentChildren
}

export function Empty({ icon, title, children, actions }: EmptyProps) {
  return (
    <div class="empty">
      <span class="art">
        <Icon name={icon} />
      </span>
      <b>{title}</b>
      <p>{children}</p>
      {actions && <div class="actions">{actions}</div>}
    </div>
  )
}

export function ErrorNote({ error, onRetry }: { error: ApiError; onRetry?: () => void }) {
  const detail = refusalDetail(error)
  return (
    <div class="note error" role="alert">
      <StatusIcon status="error" />
      <div>
        <b class="b">{refusalTitle(error) ?? t('error.title')}</b>
        <p class="muted">
          {detail === undefined ? <bdi lang="en">{error.message}</bdi> : <bdi>{detail}</bdi>}{' '}
          <code class="dim">{error.code}</code>
        </p>
      </div>
      {onRetry && (
        <span class="actions">
          <button type="button" class="btn s" onClick={onRetry}>
            {t('error.again')}
          </button>
        </span>
      )}
    </div>
  )
}

const SHOWN_AFTER_MS = 150

/** Shows the outline of a table while it loads. It appears after a moment, so that fast answers do not flicker. */
export function Skeleton({ rows = 5 }: { rows?: number }) {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SHOWN_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div class="skeleton" aria-busy="true" style={{ visibility: isShown ? 'visible' : 'hidden' }}>
      {Array.from({ length: rows }, (_, i) => (
        <span key={i} class="sk" style={{ '--w': `${40 + ((i * 17) % 50)}%` }} />
      ))}
    </div>
  )
}
