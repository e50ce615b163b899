/** The result of a dry run: the first rows, the problems, and the mapping of the columns. */

import type { DryRun } from '../../api/types.ts'
import { t } from '../../i18n/index.ts'

const SHOWN_PROBLEMS = 5

interface PreviewProps {
  found: DryRun
  headers: readonly string[]
  /** The mapping with which the rows were read: header of the file → the name that the job gets, where they differ. */
  columns: Record<string, string>
  /** The mapping as the form shows it now. */
  renamed: Record<string, string>
  onRenamed(columns: Record<string, string>): void
}

export function Preview({ found, headers, columns, renamed, onRenamed }: PreviewProps) {
  return (
    <>
      <p>
        {t('import.found', { n: found.total })}{' '}
        {found.invalid > 0 ? <b>{t('import.invalid', { n: found.invalid })}</b> : t('import.allValid')}
      </p>
      {found.problems.length > 0 && (
        <ul>
          {found.problems.slice(0, SHOWN_PROBLEMS).map(({ row, code, message }, i) => (
            <li key={i}>
              {row !== null && <span class="dim">{t('import.row', { n: row })}</span>}
              <bdi class="cut">{message}</bdi>
              <code class="n dim">{code}</code>
            </li>
          ))}
        </ul>
      )}
      {headers.length > 0 && <p class="dim">{t('import.rename')}</p>}
      {headers.length > 0 && (
        <section class="scroll preview" aria-label={t('import.preview')}>
          <table>
            <thead>
              <tr>
                {headers.map((header) => (
                  <th key={header}>
                    <bdi>{header}</bdi>
                    <input
                      aria-label={t('import.as', { name: header })}
                      placeholder={header}
                      value={renamed[header] ?? ''}
                      onInput={(event) => {
                        const { [header]: _, ...others } = renamed
                        const { value } = event.currentTarget
                        onRenamed(value === '' ? others : { ...others, [header]: value })
                      }}
                    />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {found.preview.map(({ row, value }) => (
                <tr key={row}>
                  {headers.map((header) => (
                    <td key={header} class="nowrap">
                      <bdi>{cellOf(value, columns[header] ?? header)}</bdi>
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  )
}

const LONGEST = 80

function cellOf(first: unknown, name: string): string {
  const row = (Array.isArray(first) ? first[0] : first) as Record<string, unknown> | null
  const value = row?.[name]
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}
