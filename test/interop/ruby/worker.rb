# Loaded by a `sidekiq` process of the tests. It ends with who started it, and asks for due jobs without delay.
require_relative "jobs"

Thread.new do
  $stdin.read
  Process.kill(:KILL, Process.pid)
end

# Jobs that its scheduler moves say so.
class MovedBy
  def call(_worker, job, _queue, _redis)
    job["moved_by"] = "ruby"
    yield
  end
end

# Two lines for each job are most of what thousands cost.
Sidekiq.logger.level = Logger::WARN

Sidekiq.configure_server do |config|
  config.client_middleware { |chain| chain.add(MovedBy) }
  config.options[:poll_interval_average] = 0.2
  config.on(:startup) { $stdout.puts("started") }
  $stdout.sync = true
end
