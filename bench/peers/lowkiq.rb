# Lowkiq: ruby lowkiq.rb ROLE OPTIONS enqueues; `lowkiq -r lowkiq.rb` with LOWKIQ_BENCH works.
require_relative 'harness'
require 'lowkiq'

ROLE, TEXT = ENV['LOWKIQ_BENCH'] ? ['work', ENV['LOWKIQ_BENCH']] : ARGV
O = JSON.parse(TEXT)
Lowkiq.redis = -> { Redis.new(url: O['url']) }
Lowkiq.threads_per_node = O['concurrency'] if O['concurrency']

module Noop
  extend Lowkiq::Worker

  self.shards_count = 5
  self.batch_size = 1

  def self.perform(payloads_by_id)
    payloads_by_id.each do |_id, payloads|
      payloads.each do |number, sent|
        HANDLERS.fetch(O['handler']).call
        COUNTER.ran(number, sent)
      end
    end
  end
end

case ROLE
when 'enqueue'
  enqueue(O) { |rows| Noop.perform_async(rows.map { |number, _text| { id: number, payload: [number, nil] } }) }
when 'send'
  send_at_rate(O) do |(number, _text, sent), delay|
    item = { id: number, payload: [number, sent] }
    item[:perform_in] = Time.now.to_f + delay / 1000.0 unless delay.zero?
    Noop.perform_async([item])
  end
when 'work'
  if ENV['LOWKIQ_BENCH']
    COUNTER = Counter.new(O)
    COUNTER.start { Process.kill('TERM', Process.pid) }
    at_exit { COUNTER.report }
  else
    exec({ 'LOWKIQ_BENCH' => TEXT }, 'lowkiq', '-r', File.expand_path(__FILE__), 3 => 3)
  end
end
