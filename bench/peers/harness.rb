# The Ruby side of the harness, for sidekiq.rb and lowkiq.rb: the same lines on file descriptor 3 and on standard input
# as core/child.js, and the figures of the roles in core/roles.js.
require 'json'

OUTPUT = IO.for_fd(3, 'w')
OUTPUT.sync = true

def say(message)
  OUTPUT.write("#{JSON.generate(message)}\n")
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_millisecond)
end

def cpu_micros
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :microsecond)
end

def megabytes
  File.read('/proc/self/status')[/VmHWM:\s+(\d+)/, 1].to_f / 1024
end

def args_of(number, payload, *more)
  [number, 'x' * [1, payload - 12].max, *more]
end

def await(word)
  exit!(1) unless $stdin.gets&.chomp == word
end

# Adds jobs; the block gets the arguments of all jobs of one call.
def enqueue(options, &push)
  say(ready: true)
  await('go')
  size = options['way'] == 'bulk' ? 1000 : 1
  add = lambda do |from, to|
    from.step(to - 1, size) do |n|
      push.call((n...[to, n + size].min).map { |i| args_of(i, options['payload']) })
    end
  end
  warmup, jobs = options.values_at('warmup', 'jobs').map(&:to_i)
  add.call(0, warmup)
  at, cpu = now, cpu_micros
  add.call(warmup, warmup + jobs)
  say(figures: { seconds: (now - at) / 1000, cpu: cpu_micros - cpu, memory: megabytes })
end

# Adds jobs at a fixed rate; the block gets the arguments and the delay in milliseconds.
def send_at_rate(options)
  say(ready: true)
  await('go')
  began = now
  options['jobs'].times do |i|
    early = began + i * 1000.0 / options['perSecond'] - now
    sleep(early / 1000) if early > 0.5
    delay = options.dig('delays', i) || 0
    yield args_of(i, options['payload'], now + delay), delay
  end
  say(figures: {})
end

# Counts the jobs that ran, each with its number.
class Counter
  def initialize(options)
    @options = options
    @total = options['total']
    @step = [1, [1000, @total / 20].min].max
    @bits = "\0".b * ((@total + 7) / 8)
    @lock = Mutex.new
    @done = @reported = 0
    @at = now
    @marks = []
    @waits = []
    @doubled = []
    @foreign = []
  end

  def ran(number, sent)
    @lock.synchronize do
      @at = now
      @waits << @at - sent if sent
      if number >= @total
        @foreign << number
      else
        byte = @bits.getbyte(number >> 3)
        bit = 1 << (number & 7)
        @doubled << number if byte & bit != 0
        @bits.setbyte(number >> 3, byte | bit)
      end
      @done += 1
      @marks << [@at, @done, cpu_micros] if (@done % @step).zero?
      report_done if @done == 1
    end
  end

  # Reports every ten milliseconds how many are done, and ends the program at `stop`.
  def start
    say(ready: true)
    await('go')
    Thread.new do
      sleep((@options['settleMs'] || 0) / 1000.0)
      @since = [now, cpu_micros]
      loop do
        sleep 0.01
        @lock.synchronize { report_done }
        # An idle worker is measured without this loop.
        break if @done >= @total
      end
    end
    Thread.new do
      await('stop')
      @used = { milliseconds: now - @since[0], cpu: cpu_micros - @since[1] }
      yield
    end
  end

  def report
    effects = { bits: [@bits].pack('m0'), doubled: @doubled, foreign: @foreign }
    @lock.synchronize { report_done }
    say(figures: { effects: effects, marks: @marks, waits: @waits, used: @used, memory: megabytes })
  end

  private

  def report_done
    return if @done == @reported

    @reported = @done
    @marks << [@at, @done, cpu_micros]
    say(done: @done)
  end
end

HANDLERS = {
  'noop' => -> {},
  'sleep' => -> { sleep 0.001 },
  'cpu' => lambda {
    finish = now + 1
    nil while now < finish
  }
}.freeze
