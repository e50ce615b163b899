import { at } from '../base.ts'
import { Head } from '../components/head.tsx'
import { Empty } from '../components/notice.tsx'
import { t } from '../i18n/index.ts'

export function Nowhere() {
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head title={t('nowhere.title')} />
      <section class="panel">
        <Empty
          icon="search"
          title={t('nowhere.title')}
          actions={
            <a class="btn" href={at('/')}>
              {t('nav.overview')}
            </a>
          }
        >
          {t('nowhere.what')}
        </Empty>
      </section>
    </main>
  )
}
