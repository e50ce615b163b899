import { useLocation } from 'preact-iso'
import { at } from '../base.ts'
import { Icon, Logo } from '../components/icon.tsx'
import { short } from '../format/number.ts'
import { inUtc, tellInUtc } from '../format/time.ts'
import { choose, LANGUAGES, type Language, language, t } from '../i18n/index.ts'
import { about, liveStats } from '../live/live-stats.ts'
import { keysShown } from './keys.tsx'
import { LINKS, type NavLink } from './links.ts'

/** Returns true when the open page is this link or below it. */
export function isAt(path: string, link: NavLink): boolean {
  const to = at(link.path)
  return link.path === '/' ? path === to || path === at('') : path === to || path.startsWith(`${to}/`)
}

export function Nav() {
  const { path } = useLocation()
  return (
    <nav class="nav" aria-label={t('nav.pages')}>
      <a class="brand" href={at('/')}>
        <Logo />
        Highkiq
      </a>
      {LINKS.map((group) => (
        <ul key={group[0]?.path}>
          {group.map((link) => (
            <li key={link.path}>
              <a href={at(link.path)} {...(isAt(path, link) ? { 'aria-current': 'page' } : {})}>
                <Icon name={link.icon} />
                {t(link.title)}
                <Count link={link} />
              </a>
            </li>
          ))}
        </ul>
      ))}
      <Foot />
    </nav>
  )
}

function Count({ link: { count, isHot } }: { link: NavLink }) {
  const { value: now } = liveStats
  const n = now && count ? count(now) : 0
  if (!now || n === 0) return null
  return <span class={isHot?.(now) ? 'n hot' : 'n'}>{short(n)}</span>
}

/** Shows the app and its environment, and the settings of the page: language, time zone, keys. */
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

/** Logs out: the server deletes the cookie and shows the login page. */
async function logOut(): Promise<void> {
  await fetch(at('/logout'), { method: 'POST', redirect: 'manual' }).catch(() => {})
  location.assign(at('/'))
}

/** The navigation on a phone: four links, and a menu with the others. */
export function Tabs({ onMore }: { onMore(): void }) {
  const { path } = useLocation()
  const all = LINKS.flat()
  const shown = ['/', '/tasks', '/queues', '/retries'].flatMap((one) => all.find(({ path }) => path === one) ?? [])
  return (
    <nav class="tabs" aria-label={t('nav.pages')}>
      {shown.map((link) => (
        <a key={link.path} href={at(link.path)} {...(isAt(path, link) ? { 'aria-current': 'page' } : {})}>
          <Icon name={link.icon} />
          {t(link.title)}
        </a>
      ))}
      <button type="button" onClick={onMore}>
        <Icon name="dots" />
        {t('nav.more')}
      </button>
    </nav>
  )
}
