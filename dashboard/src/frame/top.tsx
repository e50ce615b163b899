import { useLocation } from 'preact-iso'
import { at, decoded } from '../base.ts'
import { duration } from '../format/time.ts'
import { about, beat, connection, pulse } from '../live/pulse.ts'
import { title } from '../parts/head.tsx'
import { Icon, Mark } from '../parts/icon.tsx'
import { t } from '../words/index.ts'
import { openFinder } from './find.tsx'
import { isAt } from './nav.tsx'
import { PLACES } from './places.ts'
import { turnTheme } from './theme.ts'

export function Top() {
  return (
    <header class="top">
      <a class="mark" href={at('/')} aria-label="Highkiq">
        <Mark />
      </a>
      <Crumbs />
      <button class="find" type="button" onClick={openFinder}>
        <Icon name="search" />
        <span class="grow">{t('find.open')}</span>
        <kbd>Ctrl K</kbd>
      </button>
      <Connection />
      <button class="btn ghost sq" type="button" aria-label={t('top.theme')} onClick={turnTheme}>
        <Icon name="sun" />
      </button>
    </header>
  )
}

function Crumbs() {
  const { path } = useLocation()
  const place = PLACES.flat().find((one) => isAt(path, one))
  const rest = place ? path.slice(at(place.path).length).split('/').filter(Boolean) : []
  return (
    <nav class="crumbs" aria-label={t('top.where')}>
      {path.startsWith(at('/jobs/')) && <span aria-current="page">{t('job.title')}</span>}
      {place && rest.length === 0 && <span aria-current="page">{t(place.title)}</span>}
      {place && rest.length > 0 && <a href={at(place.path)}>{t(place.title)}</a>}
      {rest.map((part, i) => (
        <span key={part} class="row cut">
          <span aria-hidden="true">/</span>
          <bdi class="cut" {...(i === rest.length - 1 ? { 'aria-current': 'page' as const } : {})}>
            {place?.path === '/tasks' && title.value !== '' ? title.value : (decoded(part) ?? part)}
          </bdi>
        </span>
      ))}
    </nav>
  )
}

function Connection() {
  const { value: how } = connection
  const { value: now } = pulse
  const { value: what } = about
  return (
    <div class={`store ${how}`} role="status" title={t(`connection.${how}.why`)}>
      <i class="dot" key={beat.value} />
      <span>{t(`connection.${how}`)}</span>
      {what && (
        <>
          <span class="sep" />
          <bdi class="name">{what.store.title}</bdi>
        </>
      )}
      {now && <span class="dim ms">{duration(now.roundTrip / 1000)}</span>}
    </div>
  )
}
