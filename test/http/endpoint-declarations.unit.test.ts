import { expect, it } from 'vitest'
import type { Declaration } from '../../core/endpoints/endpoint.js'
import { declarations } from '../../core/host/endpoint-list.js'

it('no two endpoints have one path', () => {
  const paths = declarations.map(({ path }) => path)
  expect(new Set(paths).size).toBe(paths.length)
  expect(paths).toContain('/token')
})

it('an endpoint without a limit does not compile', () => {
  const { path, methods, body } = declarations[0]!
  // @ts-expect-error `limit` is missing
  const declaration: Declaration = { path, methods, body }
  expect(declaration).not.toHaveProperty('limit')
})
