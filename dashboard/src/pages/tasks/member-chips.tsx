/** Filters by members with a value: a chip for each, and a button for another one. The address holds `meta.user=7`. */

import { AddChip, Chip } from '../../components/search.tsx'
import { t } from '../../i18n/index.ts'
import { useQuery } from '../../live/use-query.ts'

/** Returns the filters by members of `name` that the address holds, as parameters of the API. */
export function memberFilters(query: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(query).filter(([one]) => one.startsWith(`${name}.`)))
}

/** Returns a change of the address that removes these filters. */
export function withoutFilters(filters: object): Record<string, null> {
  return Object.fromEntries(Object.keys(filters).map((one) => [one, null]))
}

export function MemberChips({ name, label }: { name: string; label: string }) {
  const [query] = useQuery()
  return (
    <>
      {Object.keys(memberFilters(query, name)).map((one) => (
        <Chip key={one} name={one} label={`${label}${one.slice(name.length)}`} />
      ))}
      <AddChip name={name} label={label} hint={t('tasks.metaHint')} changeOf={(text) => changeOf(name, text)} />
    </>
  )
}

/** Reads `user=7`; undefined when it is not a name and a value. */
function changeOf(name: string, text: string): Record<string, string> | undefined {
  const [, member, value] = /^([^=]*[^=\s])\s*=\s*(\S.*)$/.exec(text) ?? []
  return member === undefined || value === undefined ? undefined : { [`${name}.${member}`]: value }
}
