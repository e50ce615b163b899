import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/** Opens a dialog above the page. When it closes, the element that had the focus before gets it back. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const { current } = dialog
    current?.showModal()
    // A browser returns the focus only if the dialog is closed before it is removed.
    return () => current?.close()
  }, [])
  return dialog
}
