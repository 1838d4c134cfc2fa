import { describe, expect, it } from 'vitest'
import { KeyRefused } from '../../core/keys/ports.js'
import { keyUri, parseKeyUri, parseTokenOption, sameToken } from '../../signers/pkcs11/uri.js'

describe('RFC 7512 URIs of keys', () => {
  it.each([
    ['pkcs11:object=a', { token: {}, key: { object: 'a' } }],
    ['pkcs11:id=%01%fF', { token: {}, key: { id: '01ff' } }],
    ['pkcs11:id=ab', { token: {}, key: { id: '6162' } }],
    ['pkcs11:type=private;object=my%20key%3b%2c', { token: {}, key: { object: 'my key;,' } }],
    ['pkcs11:object=%c3%a4', { token: {}, key: { object: 'ä' } }],
    [
      'pkcs11:token=T;serial=1;manufacturer=M;model=O;slot-id=7;object=a;id=%00',
      { token: { token: 'T', serial: '1', manufacturer: 'M', model: 'O', slot: 7 }, key: { object: 'a', id: '00' } },
    ],
  ])('%s', (uri, read) => {
    expect(parseKeyUri(uri)).toEqual(read)
  })

  it.each([
    ['es-2026', 'does not begin with pkcs11:'],
    ['PKCS11:object=a', 'does not begin with pkcs11:'],
    ['pkcs11:', 'names neither object nor id'],
    ['pkcs11:token=T', 'names neither object nor id'],
    ['pkcs11:object=a;object=b', 'object is given twice'],
    ['pkcs11:object=', 'object has no value'],
    ['pkcs11:object', 'object has no value'],
    ['pkcs11:object=a;', 'the attribute `` is not one of'],
    ['pkcs11:label=a', 'the attribute `label` is not one of'],
    ['pkcs11:object=a b', 'must be percent-encoded'],
    ['pkcs11:object=ä', 'must be percent-encoded'],
    ['pkcs11:object=%2', 'must be percent-encoded'],
    ['pkcs11:object=%ff', 'not UTF-8'],
    ['pkcs11:object=a;type=public', 'type is not private'],
    ['pkcs11:object=a;slot-id=x', 'slot-id is not a number'],
    ['pkcs11:object=a?pin-value=1234', 'the module and the PIN are options of the signer'],
    [`pkcs11:object=${'a'.repeat(3000)}`, 'longer than 2048'],
  ])('%s is refused', (uri, why) => {
    expect(() => parseKeyUri(uri)).toThrow(KeyRefused)
    expect(() => parseKeyUri(uri)).toThrow(why)
  })

  it('a PIN in a URI is not repeated in the message', () => {
    expect(() => parseKeyUri('pkcs11:object=a?pin-value=98765')).not.toThrow(/98765/)
  })

  it.each(['plain', 'sp ace', 'ü;=,?%/&', '%41'])('what is written is read again: %s', (text) => {
    const key = { object: text, id: '00ff41' }
    expect(parseKeyUri(keyUri({ token: text }, key))).toEqual({ token: { token: text }, key })
  })
})

describe('the option token', () => {
  it('is a label or a URI', () => {
    expect(parseTokenOption('signet')).toEqual({ token: 'signet' })
    expect(parseTokenOption('pkcs11:token=a%20b;serial=12')).toEqual({ token: 'a b', serial: '12' })
  })

  it.each([
    ['pkcs11:', 'names no token'],
    ['pkcs11:token=a;object=k', 'object belongs to a key'],
  ])('%s is refused', (text, why) => {
    expect(() => parseTokenOption(text)).toThrow(why)
  })

  it('must not contradict the URI of a key', () => {
    expect(sameToken({ token: 'a' }, {})).toBe(true)
    expect(sameToken({ token: 'a' }, { token: 'a', serial: '1' })).toBe(true)
    expect(sameToken({ token: 'a' }, { token: 'b' })).toBe(false)
  })
})
