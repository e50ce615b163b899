import { useLocation } from 'preact-iso'
import { at } from '../base.ts'
import { short } from '../format/number.ts'
import { inUtc, tellInUtc } from '../format/time.ts'
import { about, pulse } from '../live/pulse.ts'
import { Icon, Mark } from '../parts/icon.tsx'
import { choose, LANGUAGES, type Language, language, t } from '../words/index.ts'
import { keysShown } from './keys.tsx'
import { PLACES, type Place } from './places.ts'

/** Whether a page is this place or below it. */
export function isAt(path: string, place: Place): boolean {
  const to = at(place.path)
  return place.path === '/' ? path === to || path === at('') : path === to || path.startsWith(`${to}/`)
}

export function Nav() {
  const { path } = useLocation()
  return (
    <nav class="nav" aria-label={t('nav.pages')}>
      <a class="brand" href={at('/')}>
        <Mark />
        Highkiq
      </a>
      {PLACES.map((group) => (
        <ul key={group[0]?.path}>
          {group.map((place) => (
            <li key={place.path}>
              <a href={at(place.path)} {...(isAt(path, place) ? { 'aria-current': 'page' } : {})}>
                <Icon name={place.icon} />
                {t(place.title)}
                <Count place={place} />
              </a>
            </li>
          ))}
        </ul>
      ))}
      <Foot />
    </nav>
  )
}

function Count({ place: { count, isHot } }: { place: Place }) {
  const { value: now } = pulse
  const n = now && count ? count(now) : 0
  if (!now || n === 0) return null
  return <span class={isHot?.(now) ? 'n hot' : 'n'}>{short(n)}</span>
}

/** What is looked at, and how it is told. */
export function Foot() {
  const { value: what } = about
  return (
    <div class="foot">
      {what && (
        <div class="cut">
          <bdi>{what.app}</bdi> · <bdi>{what.environment}</bdi>
        </div>
      )}
      <select
        aria-label={t('nav.language')}
        value={language.value}
        onChange={(event) => void choose(event.currentTarget.value as Language)}
      >
        {Object.entries(LANGUAGES).map(([tag, name]) => (
          <option key={tag} value={tag} lang={tag}>
            {name}
          </option>
        ))}
      </select>{' '}
      ·{' '}
      <button type="button" class="plain" onClick={() => tellInUtc(!inUtc.value)}>
        {inUtc.value ? t('nav.utc') : t('nav.local')}
      </button>{' '}
      ·{' '}
      <button type="button" class="plain" onClick={() => keysShown(true)}>
        {t('nav.keys')}
      </button>
      {what?.canLogOut && (
        <>
          {' '}
          ·{' '}
          <button type="button" class="plain" onClick={() => void logOut()}>
            {t('nav.logOut')}
          </button>
        </>
      )}
    </div>
  )
}

/** The cookie is forgotten, and the server shows the way in. */
async function logOut(): Promise<void> {
  await fetch(at('/logout'), { method: 'POST', redirect: 'manual' }).catch(() => {})
  location.assign(at('/'))
}

/** On a phone: four places, and the rest. */
export function Tabs({ onMore }: { onMore(): void }) {
  const { path } = useLocation()
  const all = PLACES.flat()
  const shown = ['/', '/tasks', '/queues', '/retries'].flatMap((one) => all.find(({ path }) => path === one) ?? [])
  return (
    <nav class="tabs" aria-label={t('nav.pages')}>
      {shown.map((place) => (
        <a key={place.path} href={at(place.path)} {...(isAt(path, place) ? { 'aria-current': 'page' } : {})}>
          <Icon name={place.icon} />
          {t(place.title)}
        </a>
      ))}
      <button type="button" onClick={onMore}>
        <Icon name="dots" />
        {t('nav.more')}
      </button>
    </nav>
  )
}
