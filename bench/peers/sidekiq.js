// Ruby's Sidekiq as it is installed. Its open-source fetch loses the running jobs of a killed process.
import { redisMissing } from '../core/programs.js'
import { gemVersion, pathOf, rubyVersion } from '../core/ruby.js'

const version = () => gemVersion('sidekiq', 'Sidekiq::VERSION')

export default {
  name: 'sidekiq',
  title: 'Sidekiq (Ruby)',
  order: 4,
  store: 'redis',
  lacks: ['waves', 'depth'],
  remark:
    '**Sidekiq** is an old version. Its free fetch loses the running jobs of a killed process. It looks for delayed jobs about every 5 seconds.',
  version: () => `${version()} on Ruby ${rubyVersion()}`,
  unavailable: () => (version() ? redisMissing() : 'Ruby has no gem sidekiq'),
  program: (role) => ['ruby', pathOf('sidekiq.rb'), role],
  async queued({ admin }, { queues }) {
    let sum = (await admin.zcard('schedule')) + (await admin.zcard('retry')) + (await admin.zcard('dead'))
    for (let queue = 0; queue < queues; queue++) sum += await admin.llen(`queue:${queue ? `queue${queue}` : 'default'}`)
    return sum
  },
}
