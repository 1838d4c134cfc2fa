import { expect, it } from 'vitest'
import { isOfType } from '../../libraries/wire/media-type.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

it('a type matches itself in any case, with and without application/', () => {
  for (const typ of ['at+jwt', ...spellingsOf('at+jwt')]) {
    expect(isOfType(typ, 'at+jwt'), typ).toBe(true)
    expect(isOfType('at+jwt', typ), typ).toBe(true)
  }
})

it('no other type or value matches', () => {
  // The sign of Kelvin is a k to JavaScript, and ı and ſ are letters that only look like ours.
  const wrong = ['at+jwt ', ' at+jwt', 'at+jwt;x=1', 'text/at+jwt', 'application/application/at+jwt', 'at+jwt\n', 'jwt']
  for (const typ of [...wrong, '', 'application/', null, undefined, 1, ['at+jwt'], { typ: 'at+jwt' }])
    expect(isOfType(typ, 'at+jwt'), JSON.stringify(typ)).toBe(false)
  expect(isOfType('\u212ab+jwt', 'kb+jwt')).toBe(false)
})

it('a missing type matches only if it is optional', () => {
  expect(isOfType(undefined, 'JWT')).toBe(false)
  expect(isOfType(undefined, undefined, 'JWT')).toBe(true)
  expect(isOfType('jwt', undefined, 'JWT')).toBe(true)
  expect(isOfType('', undefined, 'JWT')).toBe(false)
})
