import { expect, it } from 'vitest'
import { bundle } from '../support/bundle.js'
import { readDocument } from '../support/document.js'

it('the library for browsers is as small as docs/devices.md says', async () => {
  const { text, gzipped } = await bundle('libraries/device/index.ts', ['jose'])
  expect(text).toContain('from"jose"')
  expect(gzipped).toBeGreaterThan(1000)
  expect(gzipped).toBeLessThanOrEqual(12 * 1024)
  const [, said = ''] = /\*\*([\d.]+) KiB\*\* gzip/.exec(readDocument('docs/devices.md')) ?? []
  expect(Number(said)).toBe(Math.ceil((gzipped / 1024) * 10) / 10)
})
