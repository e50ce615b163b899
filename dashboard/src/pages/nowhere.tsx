import { at } from '../base.ts'
import { Head } from '../parts/head.tsx'
import { Empty } from '../parts/notice.tsx'
import { t } from '../words/index.ts'

export function Nowhere() {
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head title={t('nowhere.title')} />
      <section class="panel">
        <Empty
          icon="search"
          title={t('nowhere.title')}
          acts={
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
