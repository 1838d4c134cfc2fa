import { expect, it } from 'vitest'
import { canonicalJson } from '../../core/operators/canonical-json.js'
import type { JsonValue } from '../../core/json.js'

it('writes the example of RFC 8785 §3.2.2 as §3.2.4 has it', () => {
  const input = JSON.parse(
    String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
  ) as JsonValue
  const expected =
    '7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b3333333333333333332e333333333333' +
    '332c31652b33302c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac245c75303030665c6e4127425c225c5c5c5c5c222f227d'
  expect(Buffer.from(canonicalJson(input)).toString('hex')).toBe(expected)
})

it('sorts members by UTF-16 code units (RFC 8785 §3.2.3)', () => {
  const names = ['\u20ac', '\r', '\ufb33', '1', '\u{1f600}', '\u0080', '\u00f6']
  const written = canonicalJson(Object.fromEntries(names.map((name) => [name, 0])))
  const sorted = ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\u{1f600}', '\ufb33']
  expect(Object.keys(JSON.parse(written) as object).filter((name) => name !== '1')).toEqual(
    sorted.filter((name) => name !== '1'),
  )
  expect(written.indexOf('"\\r"')).toBeLessThan(written.indexOf('"1"'))
  expect(written.indexOf('"\u{1f600}"')).toBeLessThan(written.indexOf('"\ufb33"'))
})

it.each([
  [0, '0'],
  [-0, '0'],
  [5e-324, '5e-324'],
  [1.7976931348623157e308, '1.7976931348623157e+308'],
  [9007199254740992, '9007199254740992'],
  [295147905179352830000, '295147905179352830000'],
  [9.999999999999997e22, '9.999999999999997e+22'],
  [1e23, '1e+23'],
  [999999999999999900000, '999999999999999900000'],
  [1e21, '1e+21'],
  [0.000001, '0.000001'],
  [333333333.3333332, '333333333.3333332'],
])('writes the number %d as %s (RFC 8785, appendix B)', (number, text) => {
  expect(canonicalJson(number)).toBe(text)
})

it.each([[NaN], [Infinity], ['\ud800'], [{ '\udead': 1 }]])('refuses what I-JSON does not have: %j', (value) => {
  expect(() => canonicalJson(value as JsonValue)).toThrow(TypeError)
})
