/** A list whose rows can be selected, opened, and walked with the keyboard. */

import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../i18n/index.ts'
import { Icon } from './icon.tsx'

export interface Column<Row> {
  /** Identifies the column, also for sorting. */
  name: string
  title: ComponentChildren
  cell(row: Row): ComponentChildren
  /** `num`: right-aligned; `hide-s`, `hide-m`: hidden on narrow screens; `max`: gets the remaining width. */
  class?: string
  sort?: 'ascending' | 'descending' | undefined
  onSort?: () => void
}

interface TableProps<Row> {
  label: string
  rows: readonly Row[]
  columns: readonly Column<Row>[]
  /** Returns the key of a row; each row has its own. */
  keyOf(row: Row): string
  /** The name of a row in the label of its checkbox. */
  nameOf?: (row: Row) => string
  /** The keys of the selected rows; without it rows can't be selected. */
  chosen?: ReadonlySet<string>
  /** At most this many rows can be selected. With it no checkbox selects all. */
  maxChosen?: number
  onChoose?: (chosen: Set<string>) => void
  /** The key of the row that is open. */
  open?: string | undefined
  onOpen?: (row: Row) => void
}

export function Table<Row>(props: TableProps<Row>) {
  const {
    label,
    rows,
    columns,
    keyOf,
    nameOf = keyOf,
    chosen,
    maxChosen = Number.POSITIVE_INFINITY,
    onChoose,
    open,
    onOpen,
  } = props
  const keys = rows.map(keyOf)
  const all = chosen && keys.length > 0 && keys.every((key) => chosen.has(key))
  const some = chosen && keys.some((key) => chosen.has(key))
  const toggle = (key: string) => {
    const then = new Set(chosen)
    if (!then.delete(key)) then.add(key)
    if (then.size <= maxChosen) onChoose?.(then)
  }
  const table = useRef<HTMLTableElement>(null)
  useRowKeys(props, table, toggle)
  return (
    <div class="scroll">
      <table ref={table} aria-label={label}>
        <thead>
          <tr>
            {chosen && (
              <th class="ck-h">
                {maxChosen === Number.POSITIVE_INFINITY && (
                  <input
                    type="checkbox"
                    class={some && !all ? 'ck mixed' : 'ck'}
                    aria-label={t('table.all')}
                    checked={all === true}
                    onChange={() => onChoose?.(new Set(all ? [] : keys))}
                  />
                )}
              </th>
            )}
            {columns.map(({ name, title, class: kind, sort, onSort }) => (
              <th key={name} scope="col" class={kind ?? ''} {...(sort ? { 'aria-sort': sort } : {})}>
                {onSort ? (
                  <button type="button" class="sort" onClick={onSort}>
                    {title} {sort && <Icon name={sort === 'ascending' ? 'up' : 'down'} />}
                  </button>
                ) : (
                  title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => {
            const key = keys[i] as string
            return (
              <tr
                key={key}
                data-key={key}
                class={key === open ? 'open' : ''}
                {...(chosen ? { 'aria-selected': chosen.has(key) } : {})}
                onClick={(event) => {
                  if (onOpen && !(event.target as Element).closest('a,button,input,label')) onOpen(row)
                }}
              >
                {chosen && (
                  <td>
                    <input
                      type="checkbox"
                      class="ck"
                      aria-label={t('table.one', { name: nameOf(row) })}
                      checked={chosen.has(key)}
                      disabled={chosen.size >= maxChosen && !chosen.has(key)}
                      onChange={() => toggle(key)}
                    />
                  </td>
                )}
                {columns.map(({ name, cell, class: kind }) => (
                  <td key={name} class={kind ?? ''}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

/** j k ↑ ↓ move between the rows of all tables of the page, Enter opens a row, x selects it. */
function useRowKeys<Row>(
  { rows, keyOf, open, onOpen, chosen }: TableProps<Row>,
  table: RefObject<HTMLTableElement | null>,
  toggle: (key: string) => void,
): void {
  useEffect(() => {
    const rowOf = ({ dataset }: HTMLElement) => rows.find((row) => keyOf(row) === dataset.key)
    const onKey = (event: KeyboardEvent) => {
      const from =
        document.activeElement?.closest<HTMLElement>('tr[data-key]') ??
        document.querySelector<HTMLElement>('tr.open[data-key]')
      // The table of that row handles the key. It prevents the default, so that the others do not handle it, too.
      const isOurs = table.current?.contains(from ?? document.querySelector('tr[data-key]'))
      if (isTyping(event) || event.defaultPrevented || !isOurs) return
      const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key]
      if (step !== undefined) {
        event.preventDefault()
        // An open row is followed by the rows of its own table alone.
        const all = [
          ...((open !== undefined && table.current) || document).querySelectorAll<HTMLElement>('tr[data-key]'),
        ]
        const at = from ? all.indexOf(from) : -1
        const to = all[Math.min(Math.max(at + step, 0), all.length - 1)]
        if (to) focusRow(to)
        const row = open !== undefined && to && rowOf(to)
        if (row) onOpen?.(row)
        return
      }
      const row = from && rowOf(from)
      if (!row) return
      if (event.key === 'x' && chosen) toggle(keyOf(row))
      else if (event.key === 'Enter' && document.activeElement?.matches('tr')) onOpen?.(row)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
}

function focusRow(row: HTMLElement): void {
  row.tabIndex = -1
  row.focus()
  row.scrollIntoView({ block: 'nearest' })
}

/** Ignores keys that belong to a field, are pressed with Ctrl, or arrive while a question is open. */
export function isTyping(event: KeyboardEvent): boolean {
  const { target, ctrlKey, metaKey, altKey } = event
  if (ctrlKey || metaKey || altKey || document.querySelector('dialog[open]')) return true
  return (target as Element).closest?.('input:not([type=checkbox]),textarea,select') != null
}
