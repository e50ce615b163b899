import { useLocation } from 'preact-iso'
import { at, decoded } from '../base.ts'
import { title } from '../components/head.tsx'
import { Icon, Logo } from '../components/icon.tsx'
import { duration } from '../format/time.ts'
import { t } from '../i18n/index.ts'
import { about, beat, connection, liveStats } from '../live/live-stats.ts'
import { openFinder } from './find.tsx'
import { LINKS } from './links.ts'
import { isAt } from './nav.tsx'
import { switchTheme } from './theme.ts'

export function Top() {
  return (
    <header class="top">
      <a class="mark" href={at('/')} aria-label="Highkiq">
        <Logo />
      </a>
      <Crumbs />
      <button class="find" type="button" onClick={openFinder}>
        <Icon name="search" />
        <span class="grow">{t('find.open')}</span>
        <kbd>Ctrl K</kbd>
      </button>
      <Connection />
      <button class="btn ghost sq" type="button" aria-label={t('top.theme')} onClick={switchTheme}>
        <Icon name="sun" />
      </button>
    </header>
  )
}

function Crumbs() {
  const { path } = useLocation()
  const link = LINKS.flat().find((one) => isAt(path, one))
  const rest = link ? path.slice(at(link.path).length).split('/').filter(Boolean) : []
  return (
    <nav class="crumbs" aria-label={t('top.where')}>
      {link && rest.length === 0 && <span aria-current="page">{t(link.title)}</span>}
      {link && rest.length > 0 && <a href={at(link.path)}>{t(link.title)}</a>}
      {rest.map((part, i) => (
        <span key={part} class="row cut">
          <span aria-hidden="true">/</span>
          <bdi class="cut" {...(i === rest.length - 1 ? { 'aria-current': 'page' as const } : {})}>
            {link?.path === '/tasks' && title.value !== '' ? title.value : (decoded(part) ?? part)}
          </bdi>
        </span>
      ))}
    </nav>
  )
}

function Connection() {
  const { value: how } = connection
  const { value: now } = liveStats
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
