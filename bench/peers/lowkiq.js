// Ruby's Lowkiq as it is installed: ordered queues only, so it is measured where order is.
import { redisMissing } from '../core/programs.js'
import { gemVersion, pathOf, rubyVersion } from '../core/ruby.js'

const version = () => gemVersion('lowkiq', 'Lowkiq::VERSION')

export default {
  name: 'lowkiq',
  title: 'Lowkiq (Ruby)',
  order: 5,
  store: 'redis',
  lacks: ['waves', 'process', 'delays'],
  version: () => `${version()} on Ruby ${rubyVersion()}`,
  unavailable: () => (version() ? redisMissing() : 'Ruby has no gem lowkiq'),
  program: (role) => ['ruby', pathOf('lowkiq.rb'), role],
  /** Ids that wait, over all shards. */
  async queued({ admin }) {
    let sum = 0
    for (const key of await admin.keys('lowkiq:*:ids_scored_by_perform_in_zset')) sum += await admin.zcard(key)
    return sum
  },
}
