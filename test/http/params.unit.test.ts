import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OAuthError } from '../../core/oauth/errors.js'
import { checkNoneRepeated, parseParameters } from '../../core/oauth/requests/params.js'

const values = (text: string): Record<string, string> => Object.fromEntries(parseParameters(text).values)

describe('parameters', () => {
  it('are flat strings, decoded exactly once', () => {
    expect(values('a=1&b=x+y&c=%2B%26%3D&d[e]=%C3%A9&f=a=b&%61%62=%2541')).toEqual({
      a: '1',
      b: 'x y',
      c: '+&=',
      'd[e]': 'é',
      f: 'a=b',
      ab: '%41',
    })
  })

  it('without a value count as not sent (RFC 6749 §3.1)', () => {
    expect(values('a=&b&c=1&&=&')).toEqual({ c: '1' })
  })

  it('that are repeated are reported, with or without a value, in any spelling (RFC 6749 §3.2)', () => {
    for (const text of ['a=1&a=2', 'a=1&a=1', 'a=&a=1', 'a=1&a', 'a=1&%61=2']) {
      expect([...parseParameters(text).repeated], text).toEqual(['a'])
      expect(() => checkNoneRepeated(parseParameters(text)), text).toThrow(OAuthError)
    }
    expect(parseParameters('a=1&a=2').values.get('a')).toBe('1')
    expect(checkNoneRepeated(parseParameters('a=1&A=2')).size).toBe(2)
  })

  it('are limited to 100', () => {
    expect(Object.keys(values(Array.from({ length: 100 }, (_, index) => `p${index}=1`).join('&')))).toHaveLength(100)
    expect(() => parseParameters('a=1&'.repeat(101))).toThrow('too many')
  })

  it.each(['a=%', 'a=%4', 'a=%zz', 'a=%FF', 'a=%C0%AF', 'a=%ED%A0%80', 'a=%F4%90%80%80', 'a=%00', '%00=1', 'a=b\0'])(
    '%j is refused',
    (text) => {
      expect(() => parseParameters(text)).toThrow(OAuthError)
    },
  )

  it('match what URLSearchParams writes', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((value) => !value.includes('\0'))
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(text, text), { selector: ([name]) => name, maxLength: 20 }), (pairs) => {
        const expected = new Map(pairs.filter(([, value]) => value !== ''))
        expect(parseParameters(new URLSearchParams(pairs).toString()).values).toEqual(expected)
      }),
    )
  })

  it('of any text give parameters or `invalid_request`', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('%', '&', '=', '+', 'a', '[', '0', 'é', '\0'), maxLength: 30 }),
        (text) => {
          try {
            parseParameters(text)
          } catch (error) {
            expect(error).toMatchObject({ name: 'OAuthError', code: 'invalid_request' })
          }
        },
      ),
    )
  })
})
