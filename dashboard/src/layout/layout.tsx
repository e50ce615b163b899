/** The layout around every page. */

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { at } from '../base.ts'
import { Confirming } from '../components/confirm.tsx'
import { Icon, StatusIcon } from '../components/icon.tsx'
import { useModal } from '../components/modal.ts'
import { Toast } from '../components/toast.tsx'
import { exact } from '../format/time.ts'
import { t } from '../i18n/index.ts'
import { connection, downSince, liveStats, poll } from '../live/live-stats.ts'
import { Finder } from './find.tsx'
import { Keys } from './keys.tsx'
import { LINKS } from './links.ts'
import { Foot, Nav, Tabs } from './nav.tsx'
import { Top } from './top.tsx'

export function Layout({ children }: { children: ComponentChildren }) {
  const [isMore, setMore] = useState(false)
  return (
    <>
      <a class="skip" href="#main">
        {t('skip')}
      </a>
      <div class="app">
        <Nav />
        <div class="page">
          <Top />
          <Trouble />
          {children}
        </div>
      </div>
      <Tabs onMore={() => setMore(true)} />
      {isMore && <More onClose={() => setMore(false)} />}
      <Finder />
      <Keys />
      <Confirming />
      <Toast />
    </>
  )
}

/** Reports that the server does not answer: since when, how old the figures are, and that the page tries again. */
function Trouble() {
  if (connection.value !== 'down') return null
  const { value: last } = liveStats
  return (
    <div class="note error trouble" role="alert">
      <StatusIcon status="error" />
      <div>
        <b class="b">{t('down.title')}</b>
        <p class="muted">
          {last
            ? t('down.since', { at: exact(last.at) })
            : t('down.never', { at: exact(downSince.value ?? new Date()) })}
        </p>
      </div>
      <span class="actions">
        <button type="button" class="btn s" onClick={() => void poll()}>
          {t('error.again')}
        </button>
      </span>
    </div>
  )
}

/** The menu of a phone: everything that does not fit in the bar at the bottom. */
function More({ onClose }: { onClose(): void }) {
  const dialog = useModal()
  const { path } = useLocation()
  const opened = useRef(path)
  useEffect(() => {
    if (path !== opened.current) onClose()
  }, [path])
  return (
    <dialog ref={dialog} class="dialog more-places" aria-label={t('nav.more')} onClose={onClose}>
      <ul>
        {LINKS.flat().map(({ path, icon, title }) => (
          <li key={path}>
            <a class="row grow" href={at(path)}>
              <Icon name={icon} />
              {t(title)}
            </a>
          </li>
        ))}
      </ul>
      <Foot />
      <div class="actions">
        <button type="button" class="btn" onClick={onClose}>
          {t('drawer.close')}
        </button>
      </div>
    </dialog>
  )
}
