# Sidekiq: ruby sidekiq.rb ROLE OPTIONS.
require_relative 'harness'
require 'sidekiq'

ROLE, TEXT = ARGV
O = JSON.parse(TEXT)
# The settings of a server are taken only after this.
require 'sidekiq/cli' if ROLE == 'work'
Sidekiq.configure_client { |config| config.redis = { url: O['url'] } }
Sidekiq.configure_server { |config| config.redis = { url: O['url'], size: O['concurrency'] + 15 } }
Sidekiq.logger.level = Logger::ERROR

class Noop
  include Sidekiq::Worker

  def perform(number, _text, sent = nil)
    HANDLERS.fetch(O['handler']).call
    COUNTER.ran(number, sent)
  end
end

def queue_of(n)
  n.zero? ? 'default' : "queue#{n}"
end

case ROLE
when 'enqueue'
  calls = 0
  enqueue(O) do |rows|
    queue = queue_of((calls += 1) % O['queues'])
    if rows.size == 1
      Sidekiq::Client.push('class' => Noop, 'queue' => queue, 'args' => rows[0])
    else
      Sidekiq::Client.push_bulk('class' => Noop, 'queue' => queue, 'args' => rows)
    end
  end
when 'send'
  send_at_rate(O) do |args, delay|
    delay.zero? ? Noop.perform_async(*args) : Noop.perform_in(delay / 1000.0, *args)
  end
when 'work'
  COUNTER = Counter.new(O)
  queues = O['queues'].times.flat_map { |n| ['-q', queue_of(n) + ',1'] }
  cli = Sidekiq::CLI.instance
  COUNTER.start { Process.kill('TERM', Process.pid) }
  at_exit { COUNTER.report }
  cli.parse(['-r', File.expand_path('harness.rb', __dir__), '-c', O['concurrency'].to_s, '-t', '8', *queues])
  cli.run
end
