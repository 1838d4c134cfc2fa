import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseCompactJws } from '../../core/jose/compact-jws.js'
import { parseStrictJsonObject } from '../../libraries/wire/strict-json.js'

const b64 = (text: string | Uint8Array): string => Buffer.from(text as string).toString('base64url')
const parse = (text: string) => parseStrictJsonObject(Buffer.from(text))
const header = b64('{"alg":"ES256","kid":"a"}')
const payload = b64('{"iss":"x"}')
const signature = b64(Buffer.alloc(64, 7))
const good = `${header}.${payload}.${signature}`

describe('strict JSON objects (RFC 7519 §4)', () => {
  it.each([
    '{}',
    '{"a":1}',
    ' {"a" : {"b":[{"a":1},{"a":2}]}, "b":":"} ',
    '{"a:b":"c:d","e\\"f:":"\\\\","g":"\\\\\\":"}',
    '{"é":"💶","":null}',
    '{"constructor":1,"toString":{"hasOwnProperty":2}}',
  ])('%s is read', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text))
  })

  it.each([
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '{"x":{"a":1,"a":2}}',
    '{"x":[{"y":{"a":1,"b":2,"a":3}}]}',
    '{"":1,"":2}',
    '{"__proto__":1,"__proto__":2}',
    '{"a:":1,"a:":2}',
    '{"é":1,"\\u00e9":2}',
    '{"a":{"a":1},"a":{"b":2,"c":3}}',
  ])('%s repeats a member', (text) => {
    expect(JSON.parse(text)).toBeTypeOf('object')
    expect(parse(text)).toBeUndefined()
  })

  it.each([
    '',
    '[]',
    'null',
    '1',
    '"a"',
    '{',
    '{"a":1}x',
    '{a:1}',
    "{'a':1}",
    '{"a":1,}',
    '\ufeff{"a":1}',
    '[{"a":1}]',
  ])('%j is no object', (text) => {
    expect(parse(text)).toBeUndefined()
  })

  it('bytes that are not UTF-8 are refused', () => {
    for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82]])
      expect(parseStrictJsonObject(Buffer.from([0x7b, 0x22, ...bytes, 0x22, 0x3a, 0x31, 0x7d]))).toBeUndefined()
  })

  it('depth is limited', () => {
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
    expect(parse(nested(32))).toBeDefined()
    expect(parse(nested(33))).toBeUndefined()
    expect(parse(nested(100_000))).toBeUndefined()
    expect(parse(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).toBeUndefined()
  })

  it('reads what JSON.stringify writes, and notices any repeated member', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), fc.string(), (object, name) => {
        const text = JSON.stringify(object)
        expect(parse(text)).toEqual(JSON.parse(text))
        const member = `${JSON.stringify(name)}:null`
        const twice = text === '{}' ? `{${member},${member}}` : `{${member},${text.slice(1, -1)},${member}}`
        expect(parse(twice)).toBeUndefined()
      }),
      { numRuns: 1000 },
    )
  })
})

describe('compact JWS (RFC 7515 §7.1)', () => {
  it('is read into its parts', () => {
    expect(parseCompactJws(good)).toEqual({
      header: { alg: 'ES256', kid: 'a' },
      payload: { iss: 'x' },
      signingInput: Buffer.from(`${header}.${payload}`),
      signature: Buffer.alloc(64, 7),
    })
  })

  it.each([
    ['two segments', `${header}.${payload}`],
    ['four segments', `${good}.${signature}`],
    ['five segments', `${good}.a.b`],
    ['no signature', `${header}.${payload}.`],
    ['no payload', `${header}..${signature}`],
    ['no header', `.${payload}.${signature}`],
    ['nothing', ''],
    ['padding', `${header}.${payload}=.${signature}`],
    ['padded signature', `${good}==`],
    ['a blank', `${header}. ${payload}.${signature}`],
    ['a blank before', ` ${good}`],
    ['a line feed after', `${good}\n`],
    ['the standard alphabet', `${header}.${payload}.${Buffer.alloc(64, 0xfb).toString('base64').replace(/=+$/, '')}`],
    ['trailing bits of the signature', `${good.slice(0, -1)}${good.endsWith('w') ? 'x' : 'B'}`],
    ['trailing bits of the header', `${b64('{"alg":11}').slice(0, -1)}R.${payload}.${signature}`],
    ['a lone character', `${good}AAA`],
    ['the JSON form', JSON.stringify({ payload, signatures: [{ protected: header, signature }] })],
    ['a header that is a list', `${b64('[]')}.${payload}.${signature}`],
    ['a header that is null', `${b64('null')}.${payload}.${signature}`],
    ['a payload that is a string', `${header}.${b64('"a"')}.${signature}`],
    ['a payload that is not JSON', `${header}.${b64('{')}.${signature}`],
    ['a repeated member in the header', `${b64('{"alg":"none","alg":"ES256"}')}.${payload}.${signature}`],
    ['a repeated member in the payload', `${header}.${b64('{"exp":1,"exp":9}')}.${signature}`],
    ['crit', `${b64('{"alg":"ES256","crit":["exp"],"exp":1}')}.${payload}.${signature}`],
    ['an empty crit', `${b64('{"alg":"ES256","crit":[]}')}.${payload}.${signature}`],
    ['b64', `${b64('{"alg":"ES256","b64":true}')}.${payload}.${signature}`],
    ['a payload that is not UTF-8', `${header}.${b64(Buffer.from([0x7b, 0xff, 0x7d]))}.${signature}`],
  ])('%s: refused', (_, text) => {
    expect(parseCompactJws(text)).toBeUndefined()
  })

  it('a repeated header is read alike, cannot be changed in between, and does not affect another one', () => {
    const jwk = { kty: 'EC', key_ops: ['verify'] }
    const bound = b64(JSON.stringify({ alg: 'ES256', jwk }))
    const read = () => parseCompactJws(`${bound}.${payload}.${signature}`)?.header as Record<string, unknown>
    const first = read()
    expect(() => Object.assign(first, { alg: 'none' })).toThrow(TypeError)
    expect(() => Object.assign(first['jwk'] as object, { kty: 'oct' })).toThrow(TypeError)
    expect(() => ((first['jwk'] as typeof jwk).key_ops[0] = 'sign')).toThrow(TypeError)
    expect(read()).toEqual({ alg: 'ES256', jwk })
    expect(parseCompactJws(`${b64('{"crit":[]}')}.${payload}.${signature}`)).toBeUndefined()
    expect(parseCompactJws(`${b64('{"crit":[]}')}.${payload}.${signature}`)).toBeUndefined()
  })

  it('more headers than the cache holds are each read correctly', () => {
    const kids = Array.from({ length: 2500 }, (_, index) => String(index))
    for (const kid of [...kids, ...kids]) {
      const text = `${b64(JSON.stringify({ alg: 'ES256', kid }))}.${payload}.${signature}`
      expect(parseCompactJws(text)?.header['kid']).toBe(kid)
    }
  })

  it('a segment is read if and only if its bytes are spelled so', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[\w-]{1,9}$/), (tail) => {
        const spelled = Buffer.from(tail, 'base64url').toString('base64url') === tail
        expect(parseCompactJws(`${header}.${payload}.${tail}`) !== undefined).toBe(spelled)
      }),
      { numRuns: 3000 },
    )
  })

  it('the limit is 8 KiB', () => {
    const sized = (length: number) => {
      const body = b64(JSON.stringify({ a: 'x'.repeat(length) }))
      return `${header}.${body}.${signature}`
    }
    const fits = [...Array(8192).keys()].reverse().find((length) => sized(length).length <= 8192) ?? 0
    expect(parseCompactJws(sized(fits))).toBeDefined()
    expect(parseCompactJws(sized(fits + 1))).toBeUndefined()
    expect(parseCompactJws('a'.repeat(10_000_000))).toBeUndefined()
  })

  it('no two texts are the same token', () => {
    const edit = fc.tuple(
      fc.nat(good.length),
      fc.constantFrom('', '=', ' ', '\n', '.', 'A', 'B', '_', '-', '+', '/'),
      fc.boolean(),
    )
    fc.assert(
      fc.property(edit, ([at, put, replace]) => {
        const edited = good.slice(0, at) + put + good.slice(at + (replace ? 1 : 0))
        const parsed = parseCompactJws(edited)
        if (edited === good || parsed === undefined) return
        expect(parsed).not.toEqual(parseCompactJws(good))
        expect(`${Buffer.from(parsed.signingInput).toString()}.${b64(parsed.signature)}`).toBe(edited)
      }),
      { numRuns: 2000 },
    )
  })
})
