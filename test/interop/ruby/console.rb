# Runs what the tests say in Ruby: lines of JSON, `{code, args}` in and `{answer}` or `{error}` out.
require_relative "jobs"
require "sidekiq/api"

$stdout.sync = true
$stdin.each_line do |line|
  code, args = JSON.parse(line).values_at("code", "args")
  # What one of them defines – classes, middleware – is there for the next, but for local variables.
  about = TOPLEVEL_BINDING.dup
  about.local_variable_set(:args, args)
  reply =
    begin
      JSON.generate({answer: about.eval(code)})
    rescue Exception => error # also a mistake in the code itself
      JSON.generate({error: error.full_message(highlight: false).scrub})
    end
  puts reply
end
