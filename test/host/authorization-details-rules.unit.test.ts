import { describe, expect, it } from 'vitest'
import {
  compileDetailsSchema,
  createAuthorizationDetailsTypes,
  isClosedSchema,
} from '../../core/oauth/authorization-details-schema.js'

const closed = { type: 'object', additionalProperties: false } as const

describe('schemas of authorization_details', () => {
  it('must refuse unknown members (RFC 9396 §5)', () => {
    expect(isClosedSchema(closed)).toBe(true)
    expect(isClosedSchema({ type: 'object', unevaluatedProperties: false })).toBe(true)
    for (const open of [
      {},
      { type: 'object' },
      { additionalProperties: false },
      { ...closed, additionalProperties: {} },
    ])
      expect(isClosedSchema(open), JSON.stringify(open)).toBe(false)
  })

  it('must compile, with no keyword or format that nobody checks', () => {
    expect(() => compileDetailsSchema({ ...closed, properties: { a: { type: 'string' } } })).not.toThrow()
    for (const wrong of [
      { type: 'objekt' },
      { ...closed, requird: ['a'] },
      { ...closed, properties: { a: { type: 'string', format: 'iban' } } },
      { ...closed, properties: { a: { $ref: 'https://schemas.example/a' } } },
      { ...closed, properties: { a: { type: 'string', pattern: '(' } } },
    ])
      expect(() => compileDetailsSchema(wrong), JSON.stringify(wrong)).toThrow()
  })

  it('describes every member where nothing says which, and leaves out what is not there', () => {
    const members = { a: { type: 'string' }, b: { type: 'object' }, 'c/d': { type: 'number' } }
    const schema = { ...closed, properties: members }
    const types = createAuthorizationDetailsTypes([
      { type: 'all', schema },
      {
        type: 'some',
        title: { en: 'Some' },
        schema,
        show: [
          { path: '/c~1d', format: 'text' },
          { label: { en: 'Sum' }, path: '/b', format: 'amount' },
          { path: '/missing/a', format: 'text' },
          { path: '/a/length', format: 'text' },
        ],
      },
    ])
    const detail = { a: 'x', b: { currency: 'EUR', amount: 5 }, 'c/d': 1 }
    expect(types.get('all')?.describe({ type: 'all', ...detail }, AbortSignal.abort())).toEqual({
      title: { en: 'all' },
      lines: [
        { label: { en: 'a' }, text: 'x' },
        { label: { en: 'b' }, text: '{"currency":"EUR","amount":5}' },
        { label: { en: 'c/d' }, text: '1' },
      ],
    })
    expect(types.get('some')?.describe({ type: 'some', ...detail }, AbortSignal.abort())).toEqual({
      title: { en: 'Some' },
      lines: [
        { label: { en: '/c~1d' }, text: '1' },
        { label: { en: 'Sum' }, text: '5 EUR' },
      ],
    })
  })
})
