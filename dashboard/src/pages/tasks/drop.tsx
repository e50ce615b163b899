/** A place where a file can be dropped. */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../../words/index.ts'

export function FileDrop({
  children,
  isOff,
  onFile,
}: {
  children: ComponentChildren
  isOff: boolean
  onFile(file: File): void
}) {
  const [isOver, setOver] = useState(false)
  if (isOff) return <>{children}</>
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a button does the same without dragging
    <div
      class={isOver ? 'drop over' : 'drop'}
      data-hint={t('tasks.dropNow')}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false)
      }}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        const file = event.dataTransfer?.files[0]
        if (file) onFile(file)
      }}
    >
      {children}
    </div>
  )
}
