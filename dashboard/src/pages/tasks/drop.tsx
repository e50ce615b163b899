/** Accepts a file that is dropped on the page. */

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** The endings of the files that the server reads. */
export const FILE_ENDINGS = '.csv,.tsv,.txt,.xlsx,.xlsm,.ndjson,.jsonl,.json'

export function FileDrop({
  children,
  isOff,
  hint,
  onFile,
}: {
  children: ComponentChildren
  isOff: boolean
  /** Says what happens to the file. */
  hint: string
  onFile(file: File): void
}) {
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    if (isOff) return
    addEventListener('dragover', refuseBeside)
    addEventListener('drop', refuseBeside)
    return () => {
      removeEventListener('dragover', refuseBeside)
      removeEventListener('drop', refuseBeside)
    }
  }, [isOff])
  if (isOff) return <>{children}</>
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a button does the same without dragging
    <div
      class={isOver ? 'drop over' : 'drop'}
      data-hint={hint}
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

/** Without this the browser would open a file that is dropped beside the target. */
function refuseBeside(event: DragEvent): void {
  if (event.defaultPrevented || !event.dataTransfer?.types.includes('Files')) return
  event.preventDefault()
  event.dataTransfer.dropEffect = 'none'
}
