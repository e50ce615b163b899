import { t } from '../i18n/index.ts'
import { Icon } from './icon.tsx'
import { reportOutcome } from './toast.tsx'

export function Copy({ text, label }: { text: string; label: string }) {
  return (
    <button type="button" class="btn ghost s sq" aria-label={label} onClick={() => void copy(text)}>
      <Icon name="copy" />
    </button>
  )
}

/** Copies a text to the clipboard and reports that. */
export async function copy(text: string): Promise<void> {
  await reportOutcome(written(text), () => t('copied'))
}

async function written(text: string): Promise<void> {
  // Browsers have no `clipboard` over plain HTTP from another machine.
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const container = document.querySelector('dialog[open]') ?? document.body
  const field = document.createElement('textarea')
  field.className = 'vh'
  field.value = text
  const before = document.activeElement as HTMLElement | null
  container.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  before?.focus()
  if (!isCopied) throw new Error(t('copy.refused'))
}
