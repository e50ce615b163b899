/** The last column of a list: the actions on a row. */

import type { ComponentChildren } from 'preact'
import { t } from '../i18n/index.ts'
import { about } from '../live/live-stats.ts'
import type { Column } from './table.tsx'

/** Returns the column; none when the dashboard is read-only. */
export function actionColumn<Row>(cell: (row: Row) => ComponentChildren, className = 'num'): Column<Row>[] {
  if (about.value?.readOnly !== false) return []
  return [{ name: 'actions', title: <span class="vh">{t('actions')}</span>, class: className, cell }]
}
