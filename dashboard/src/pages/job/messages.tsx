/** The messages of a job, or of the event of a row. */

import type { TaskEvent } from '../../api/types.ts'
import { When } from '../../components/time.tsx'
import { messageText } from '../../format/message.ts'
import { number } from '../../format/number.ts'
import { exact } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { visible } from './json.tsx'

export function Messages({ messages }: { messages: TaskEvent['messages'] }) {
  return (
    <>
      <div class="sec">
        <h3>{t('job.messages')}</h3>
        <span class="aside">{number(messages.length)}</span>
      </div>
      <ol class="messages">
        {messages.map(({ at: time, text }, i) => (
          <li key={i}>
            <span class="when dim" title={exact(time)}>
              <When at={time} />
            </span>
            <bdi>{visible(messageText(text))}</bdi>
          </li>
        ))}
      </ol>
    </>
  )
}
