import { afterEach, expect, it, vi } from 'vitest'
import { reportFailure } from '../../core/cli/failure.js'

afterEach(() => void vi.restoreAllMocks())

it('prints why a native binding cannot be loaded, without the advice of its package', () => {
  const printed: string[] = []
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => printed.push(String(text)) > 0)
  vi.spyOn(console, 'error').mockImplementation((text: unknown) => void printed.push(String(text)))
  const missing = new Error('librt.so.1: cannot open shared object file: No such file or directory')
  const other = new Error("Cannot find module '@node-rs/argon2-linux-x64-musl'\nRequire stack:\n- index.js", {
    cause: missing,
  })
  const thrown = new Error('Cannot find native binding. npm has a bug: remove package-lock.json', { cause: other })
  thrown.stack = `${String(thrown)}\n    at Object.<anonymous> (/app/node_modules/@node-rs/argon2/index.js:1:1)`
  expect(reportFailure(thrown)).toBe(1)
  const text = printed.join('')
  expect(text).toContain('The native part of @node-rs/argon2 cannot be loaded')
  expect(text).toContain(missing.message)
  expect(text).not.toMatch(/npm has a bug|Require stack|package-lock/)
})
