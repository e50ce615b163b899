# The jobs of the Ruby side. They report their runs in Redis, in the lists `ran` and `began`, which the tests read.
require "json"
require "sidekiq"

# What the gem has to say of its next version is of no use here.
Redis.silence_deprecations = true
Redis.sadd_returns_boolean = false

def report(type, about = {})
  Sidekiq.redis { |redis| redis.rpush(type, JSON.generate({by: "ruby", pid: Process.pid, **about})) }
end

class Quick
  include Sidekiq::Worker

  def perform(*args)
    report("ran", jid: jid, args: args)
  end
end

# Fails in the languages that it is told.
class Picky
  include Sidekiq::Worker
  sidekiq_options backtrace: true

  def perform(languages, *args)
    raise ArgumentError, "not in ruby: žluťoučký 🐎" if languages.include?("ruby")

    report("ran", jid: jid, args: args)
  end
end

# Fails the first time, whoever runs it.
class Once
  include Sidekiq::Worker

  def perform(*args)
    first = Sidekiq.redis { |redis| redis.set("failed:#{jid}", 1, nx: true) }
    raise "the first time, it fails" if first

    report("ran", jid: jid, args: args)
  end
end

# Goes on until there is the key that it is given.
class Long
  include Sidekiq::Worker

  def perform(key)
    report("began", jid: jid, args: [key])
    sleep 0.02 until Sidekiq.redis { |redis| redis.exists?(key) }
    finish(key)
  end

  def finish(key)
    report("ran", jid: jid, args: [key])
  end
end

# The same, but that it fails in the end.
class LongThenFails < Long
  def finish(_key)
    raise "in the end, it fails"
  end
end
