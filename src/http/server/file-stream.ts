/** Sends a file while its client reads it and may read it. */

/** How often a stream asks whether its client may read on. */
const CHECK_MS = 1000

export interface FileStreamOptions {
  /** The seconds for which the client may leave data unread before the file is broken off. */
  unreadSeconds: number
  /** Returns why the client may not read on; undefined while it may. It is asked every second. */
  refusal?: (() => Error | undefined) | undefined
  /** Called when the stream has ended for any reason. */
  onEnd(): void
}

/**
 * Returns the bytes of a file, read only as fast as the client reads them. A file that is broken off ends with an error,
 * so that no client takes it for complete.
 */
export function fileStream(
  content: ReadableStream<Uint8Array>,
  { unreadSeconds, refusal, onEnd }: FileStreamOptions,
): ReadableStream<Uint8Array> {
  const reader = content.getReader()
  let unread: NodeJS.Timeout | undefined
  let checks: NodeJS.Timeout | undefined
  let awaitClient = () => {}
  let hasEnded = false
  const end = () => {
    if (hasEnded) return
    hasEnded = true
    clearTimeout(unread)
    clearInterval(checks)
    onEnd()
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const breakOff = (error: Error) => {
          end()
          controller.error(error)
          reader.cancel(error).catch(() => {})
        }
        awaitClient = () => {
          unread = setTimeout(() => breakOff(new Error('the client does not read')), unreadSeconds * 1000).unref()
        }
        awaitClient()
        if (!refusal) return
        const check = () => {
          const error = refusal()
          if (error) breakOff(error)
        }
        checks = setInterval(check, CHECK_MS).unref()
      },
      async pull(controller) {
        clearTimeout(unread)
        try {
          const { done, value } = await reader.read()
          if (hasEnded) return
          if (done) {
            end()
            controller.close()
          } else {
            controller.enqueue(value)
            awaitClient()
          }
        } catch (thrown) {
          if (hasEnded) return
          end()
          throw thrown
        }
      },
      async cancel(reason) {
        end()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
