import { expect, test } from 'vitest'
import { appFolder } from './environment.ts'

test.for([
  ['/srv/shop', 'shop'],
  ['/srv/shop/releases/20261121103000', 'shop'],
  ['/srv/shop/releases/v2', 'v2'],
  ['/srv/shop/20261121103000', '20261121103000'],
  ['/', ''],
] as const)('of %s the tag is %j', ([folder, tag]) => {
  expect(appFolder(folder)).toBe(tag)
})
