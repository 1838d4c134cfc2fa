import { describe, expect, it } from 'vitest'
import {
  compileDetailsSchema,
  createAuthorizationDetailsTypes,
  isClosedSchema,
  mayHave,
  namesType,
} from '../../core/oauth/requests/authorization-details-schema.js'

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

  it('must not mention type, because a detail is checked without it', () => {
    const named = { type: { const: 'payment' }, a: {} }
    for (const wrong of [
      { ...closed, required: ['a', 'type'] },
      { ...closed, properties: named },
      { ...closed, allOf: [{ required: ['type'] }] },
      { ...closed, anyOf: [{}, { oneOf: [{ properties: named }] }] },
      { ...closed, if: { properties: named }, then: {} },
    ])
      expect(namesType(wrong), JSON.stringify(wrong)).toBe(true)
    for (const right of [
      closed,
      { ...closed, required: ['a'], properties: { a: { properties: named, required: ['type'] } } },
      { ...closed, properties: { types: {} }, $defs: { b: { required: ['type'] } } },
    ])
      expect(namesType(right), JSON.stringify(right)).toBe(false)
  })

  it('has the members that its lines show', () => {
    const schema = {
      ...closed,
      properties: {
        a: { ...closed, properties: { 'b/c': {} } },
        d: { type: 'object' },
        e: { type: 'array', items: {} },
      },
    }
    for (const path of ['/a', '/a/b~1c', '/d/x', '/e/0/x']) expect(mayHave(schema, path), path).toBe(true)
    for (const path of ['/type', '/b', '/a/b', '/a/x']) expect(mayHave(schema, path), path).toBe(false)
    expect(mayHave({ ...schema, allOf: [{ properties: { z: {} } }] }, '/z')).toBe(true)
  })

  it('must compile, without unchecked keywords or formats', () => {
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

  it('describes every member by default, and omits absent ones', () => {
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
