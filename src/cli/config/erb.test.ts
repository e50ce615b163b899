import { describe, expect, test } from 'vitest'
import { ErbError, expandErb } from './erb.ts'

const ENV = { N: '7', NAME: 'shop', EMPTY: '', PADDED: '12 jobs' }

test.for<[code: string, value: string]>([
  ["ENV['N']", '7'],
  ['ENV["N"]', '7'],
  ["ENV['NONE']", ''],
  ["ENV['NONE'] || 5", '5'],
  ["ENV['EMPTY'] || 5", ''],
  ["ENV['EMPTY'].presence || 5", '5'],
  ["ENV['NONE'] || ENV['N'] || 5", '7'],
  ["ENV['NONE'] or 5", '5'],
  ["ENV.fetch('N')", '7'],
  ["ENV.fetch('N', 5)", '7'],
  ["ENV.fetch('NONE', 5)", '5'],
  ["ENV.fetch('NONE', ENV['N'])", '7'],
  ["ENV.fetch('NONE', nil)", ''],
  ['ENV.fetch("NONE") { 5 }', '5'],
  ["ENV.fetch('NONE'){'a'}", 'a'],
  ["ENV.fetch('NONE', :low)", 'low'],
  ["ENV['N'].to_i", '7'],
  ["ENV['NONE'].to_i", '0'],
  ["ENV['PADDED'].to_i", '12'],
  ["(ENV['NONE'] || 5).to_i", '5'],
  ["ENV['NONE']&.to_i || 5", '5'],
  ["Integer(ENV.fetch('N', 5))", '7'],
  ["Integer(ENV['NONE'] || '5')", '5'],
  ["ENV.fetch('NONE', 1.5).to_f", '1.5'],
])('%s', ([code, value]) => {
  expect(expandErb(`<%= ${code} %>`, ENV)).toBe(value)
  expect(expandErb(`<%=${code}-%>`, ENV)).toBe(value)
})

test('a variable may have any name', () => {
  expect(expandErb("<%= ENV['constructor'] || 5 %> <%= ENV.fetch('toString', 6) %>", ENV)).toBe('5 6')
})

test('expands values, keys and strings, removes comments and keeps line numbers', () => {
  const text = `<%# a comment
  of two lines %>
:<%= ENV['NAME'] %>_jobs: 'for <%= ENV['NAME'] %>, <%= ENV['N'] %> times'
  # was: <%= Etc.nprocessors %>
literally: <%% %%>`
  expect(expandErb(text, ENV)).toBe("\n\n:shop_jobs: 'for shop, 7 times'\n  # was: \nliterally: <% %>")
})

describe('anything but a look-up is refused with its line and text', () => {
  const calculated = ["ENV['N'].to_i * 2", "ENV['N'] == '7' ? 1 : 2", "ENV['N'].upcase", 'ENV["#{name}_N"]', '5', '']
  const others = [
    'Random.rand(5)',
    "ENV['NONE'] || toString",
    "ENV['N'].constructor",
    'ENV[name]',
    'ENV.to_h',
    'Rails.env',
    '`hostname`',
    "ENV['N'",
  ]
  const missing = ["ENV.fetch('NONE')", "Integer(ENV['NONE'])"]

  test.for([...calculated, ...others, ...missing])('<%%= %s %%>', (code) => {
    const refused = () => expandErb(`a: 1\nb: <%= ${code} %>\n`, ENV)
    expect(refused).toThrow(ErbError)
    expect(refused).toThrow(expect.objectContaining({ line: 2, tag: `<%= ${code} %>` }))
  })

  test.for(["<% if ENV['N'] %>", '<%- 5.times do -%>', '# <% end %>', "<%= ENV['N'] "])('%s', (tag) => {
    expect(() => expandErb(`\n\n${tag}`, ENV)).toThrow(expect.objectContaining({ line: 3 }))
  })
})
