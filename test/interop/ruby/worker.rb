# Loaded by a `sidekiq` process of the tests. It ends with who started it, and asks for due jobs without delay.
require_relative "jobs"

Thread.new do
  $stdin.read
  Process.kill(:KILL, Process.pid)
end

Sidekiq.configure_server do |config|
  config.options[:poll_interval_average] = 0.2
  config.on(:startup) { $stdout.puts("started") }
  $stdout.sync = true
end
