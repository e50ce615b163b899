import { t } from '../words/index.ts'
import { Icon } from './icon.tsx'
import { say } from './toast.tsx'

/** Puts a text into the clipboard. */
export function Copy({ text, label }: { text: string; label: string }) {
  const copy = () => navigator.clipboard.writeText(text).then(() => say(t('copied')))
  return (
    <button type="button" class="btn ghost s sq" aria-label={label} onClick={() => void copy()}>
      <Icon name="copy" />
    </button>
  )
}
