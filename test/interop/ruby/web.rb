# Sidekiq Web on a port of this machine: web.rb PORT. It says `started`, and ends with who started it.
require_relative "jobs"
require "sidekiq/web"
require "rack/handler/webrick"
require "securerandom"
require "webrick"

Thread.new do
  $stdin.read
  Process.kill(:KILL, Process.pid)
end
$stdout.sync = true

app = Rack::Builder.new do
  # Its buttons carry a token that is kept in the session.
  use Rack::Session::Cookie, secret: SecureRandom.hex(64)
  run Sidekiq::Web
end
Rack::Handler::WEBrick.run(
  app,
  BindAddress: "127.0.0.1", Port: Integer(ARGV.fetch(0)), AccessLog: [],
  Logger: WEBrick::Log.new($stderr, WEBrick::Log::WARN), StartCallback: -> { puts "started" }
)
