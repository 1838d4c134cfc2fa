import { describe, expect, it } from 'vitest'
import { KeyRefused } from '../../core/keys/ports.js'
import { OAuthError } from '../../core/oauth/errors.js'
import { Unavailable } from '../../core/unavailable.js'

/** What a plugin with its own copy of the package throws: the same brand on another class. */
const foreign = (name: string): object => Object.assign(new Error('foreign'), { [Symbol.for(name)]: true })

describe.each([
  ['signet.OAuthError', OAuthError, new OAuthError('invalid_grant', 'own')],
  ['signet.Unavailable', Unavailable, new Unavailable('store', 'no', 'own')],
  ['signet.KeyRefused', KeyRefused, new KeyRefused('own')],
] as const)('%s', (name, constructor, own) => {
  it('is recognised by its brand, whichever copy of the package created it', () => {
    expect(own).toBeInstanceOf(constructor)
    expect(foreign(name)).toBeInstanceOf(constructor)
  })

  it.each([[new Error('other')], [null], ['text'], [foreign('signet.Other')]])('is not %s', (value) => {
    expect(value instanceof constructor).toBe(false)
  })
})
