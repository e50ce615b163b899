/** Sends a corrected report: its rows run again. */

import { useState } from 'preact/hooks'
import { ApiError, sendFile } from '../../api/client.ts'
import type { TaskRetried } from '../../api/types.ts'
import { Icon } from '../../components/icon.tsx'
import { showToast } from '../../components/toast.tsx'
import { refusalText } from '../../format/refusal.ts'
import { t } from '../../i18n/index.ts'
import { FILE_ENDINGS } from './drop.tsx'
import { retriedText } from './retry.tsx'

export interface Corrected {
  isSending: boolean
  /** Why the last file was refused. */
  error: ApiError | undefined
  send(file: File): void
}

export function useCorrected(task: string, reload: () => Promise<void>): Corrected {
  const [{ isSending, error }, setState] = useState<Omit<Corrected, 'send'>>({ isSending: false, error: undefined })
  const send = async (file: File) => {
    setState({ isSending: true, error: undefined })
    try {
      showToast(retriedText(await sendFile<TaskRetried>(`/tasks/${task}/retry`, {}, file)))
      setState({ isSending: false, error: undefined })
    } catch (thrown) {
      setState({ isSending: false, error: thrown instanceof ApiError ? thrown : new ApiError('', String(thrown), 0) })
    }
    await reload()
  }
  return { isSending, error, send: (file) => void send(file) }
}

export function CorrectedButton({ isSending, send }: Corrected) {
  return (
    <label class="btn" aria-disabled={isSending}>
      <Icon name="upload" />
      {t(isSending ? 'import.sending' : 'task.sendCorrected')}
      <input
        type="file"
        class="vh"
        accept={FILE_ENDINGS}
        disabled={isSending}
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? []
          // The same file can be chosen again after it was corrected once more.
          currentTarget.value = ''
          if (file) send(file)
        }}
      />
    </label>
  )
}

export function CorrectedError({ error }: Corrected) {
  return (
    error && (
      <div class="err section" role="alert">
        <b>{t('task.correctedWrong')}</b>
        <p>
          <bdi>{refusalText(error)}</bdi>
        </p>
      </div>
    )
  )
}
