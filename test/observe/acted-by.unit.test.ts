import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { actedHere, readActedBy, writeActedBy } from '../../core/observe/acted-by.js'

describe('who made a change', () => {
  it('has the user and the host of the process, and who called sudo', () => {
    const before = process.env['SUDO_USER']
    process.env['SUDO_USER'] = 'carol'
    try {
      expect(actedHere('command')).toEqual({
        ...{ via: 'command', os_user: expect.any(String), sudo_user: 'carol', host: hostname() },
      })
    } finally {
      if (before === undefined) delete process.env['SUDO_USER']
      else process.env['SUDO_USER'] = before
    }
  })

  it('is read from a form as it was written', () => {
    const by = actedHere('sighup')
    expect(readActedBy(writeActedBy(by), 'unix')).toEqual(by)
  })

  it('has the address that was seen, and a claimed one only over a unix socket', () => {
    const claims = { address: '10.0.0.9' }
    expect(readActedBy(claims, '127.0.0.1')).toEqual({ via: 'http', address: '127.0.0.1' })
    expect(readActedBy(claims, 'unix')).toEqual({ via: 'http', address: '10.0.0.9' })
  })

  it.each([{ via: 'start' }, { via: '' }, { os_user: '' }, { host: 'a'.repeat(257) }])('refuses %o', (form) => {
    expect(readActedBy(form, '127.0.0.1')).toBeUndefined()
  })
})
