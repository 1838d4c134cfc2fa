import { expect, it } from 'vitest'
import { keyTypes } from '../../core/jose/algorithms.js'
import type { PublicJwk } from '../../core/jose/jwk.js'
import { isSameHalf } from '../../signers/pkcs11/key-objects.js'

it.each(Object.entries(keyTypes))('public halves of %s are distinguished by every member of their type', (_, row) => {
  const { members } = row
  const key = Object.fromEntries(members.map((name) => [name, `a ${name}`])) as unknown as PublicJwk
  expect(isSameHalf(members, key, { ...key })).toBe(true)
  for (const name of members) {
    expect(isSameHalf(members, key, { ...key, [name]: 'another' }), name).toBe(false)
    const without = Object.fromEntries(Object.entries(key).filter(([member]) => member !== name)) as typeof key
    expect(isSameHalf(members, key, without), name).toBe(false)
    expect(isSameHalf(members, without, without), name).toBe(false)
  }
  expect(isSameHalf([], key, key)).toBe(false)
})
