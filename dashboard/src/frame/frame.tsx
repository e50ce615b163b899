/** What is around every page. */

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { at } from '../base.ts'
import { exact } from '../format/time.ts'
import { connection, downSince, poll, pulse } from '../live/pulse.ts'
import { Confirming } from '../parts/confirm.tsx'
import { Icon, StatusIcon } from '../parts/icon.tsx'
import { Toast } from '../parts/toast.tsx'
import { t } from '../words/index.ts'
import { Finder } from './find.tsx'
import { Keys } from './keys.tsx'
import { Foot, Nav, Tabs } from './nav.tsx'
import { PLACES } from './places.ts'
import { Top } from './top.tsx'

export function Frame({ children }: { children: ComponentChildren }) {
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

/** The server is away: since when, what the figures are worth still, and what is tried. */
function Trouble() {
  if (connection.value !== 'down') return null
  const { value: last } = pulse
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
      <span class="acts">
        <button type="button" class="btn s" onClick={() => void poll()}>
          {t('error.again')}
        </button>
      </span>
    </div>
  )
}

/** Everything that has no room at the foot of a phone. */
function More({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const { path } = useLocation()
  const opened = useRef(path)
  useEffect(() => dialog.current?.showModal(), [])
  useEffect(() => {
    if (path !== opened.current) onClose()
  }, [path])
  return (
    <dialog ref={dialog} class="dialog more-places" aria-label={t('nav.more')} onClose={onClose}>
      <ul>
        {PLACES.flat().map(({ path, icon, title }) => (
          <li key={path}>
            <a class="row grow" href={at(path)}>
              <Icon name={icon} />
              {t(title)}
            </a>
          </li>
        ))}
      </ul>
      <Foot />
      <div class="acts">
        <button type="button" class="btn" onClick={onClose}>
          {t('drawer.close')}
        </button>
      </div>
    </dialog>
  )
}
