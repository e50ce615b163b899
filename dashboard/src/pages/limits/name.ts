/** The name of a limit in words. */

import type { Limit } from '../../api/types.ts'
import { t } from '../../i18n/index.ts'

export function limitName({ kind, name, position = 1 }: Pick<Limit, 'kind' | 'name'> & { position?: number }): string {
  const own = kind === 'app' ? t('limits.kind.app') : t(`limits.kind.${kind}`, { name })
  return position > 1 ? `${own} #${position}` : own
}
