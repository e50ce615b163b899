/** The texts of unique locks in Chinese. */

import type { locks as english } from '../en/locks.ts'
import type { TextsOf } from '../index.ts'

export const locks: TextsOf<typeof english> = {
  'locks.title': '唯一锁',
  'locks.search': '键或 jid',
  'locks.none': '没有唯一作业在等待或运行',
  'locks.noneWhat': '唯一作业在等待或运行期间只会推入一次：',
  'locks.holder': '持有锁的作业',
  'locks.ends': '结束时间',
  'locks.withJob': '随作业结束',
  'locks.orWithJob': '或随作业结束',
  'locks.release': '释放',
  'locks.released': '锁 {key} 已释放；作业 {jid} 保留',
  'locks.gone': '锁 {key} 已经释放',
}
