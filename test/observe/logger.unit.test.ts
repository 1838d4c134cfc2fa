import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { redact, redactText } from '../../core/observe/redact.js'

const run = (format: string): string => spawn(format).stdout

const spawn = (format: string, stdout: 'pipe' | number = 'pipe') => {
  const script = new URL('../support/server/logger-process.ts', import.meta.url).pathname
  const given = ['--import', 'tsx', script, format]
  return spawnSync(process.execPath, given, { encoding: 'utf8', stdio: ['ignore', stdout, 'pipe'], timeout: 30_000 })
}

describe('the log', () => {
  it('is JSON lines, all written when the process ends at once, without a secret', () => {
    const output = run('json')
    expect(output).not.toContain('canary')
    const lines = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines.map(({ msg }) => msg)).toEqual(['started', 'flat', 'spellings', 'deep', 'by form', 'failed', 'thrown'])
    expect(lines[0]).toMatchObject({ level: 'info', port: 3000 })
    expect(lines[1]).toMatchObject({ code: '[redacted]', ok: 'seen' })
    expect(lines[3]).toMatchObject({ level: 'warn', jwk: { x: 'public', d: '[redacted]' } })
    expect(lines[5]).toMatchObject({
      request_id: 'r1',
      cause: { error_code: 'ECONNREFUSED', cause: { message: 'token [redacted]' } },
    })
  })

  it('is written, pipe or not, when `flush` resolves', () => {
    const { stdout, signal } = spawn('flush')
    expect(stdout.trim().split('\n')).toHaveLength(7)
    expect(signal).toBe('SIGKILL')
  })

  it('neither ends a process on a full disk nor prevents its end', () => {
    const full = openSync('/dev/full', 'w')
    const { status, signal, stderr } = spawn('full', full)
    closeSync(full)
    expect({ status, signal, stderr }).toEqual({ status: 0, signal: null, stderr: '' })
  })

  it('is for people on a terminal, without a secret', () => {
    const output = run('pretty')
    expect(output).toContain('started')
    expect(output).toContain('ECONNREFUSED')
    expect(output).not.toContain('canary')
  })

  it('stops at a depth, and leaves values unchanged that are not text', () => {
    const deep: Record<string, unknown> = {}
    deep['a'] = deep
    expect(JSON.stringify(redact(deep as never)).length).toBeLessThan(200)
    expect(redact({ a: 1, b: null, c: [true, 'x'], d: undefined })).toEqual({
      a: 1,
      b: null,
      c: [true, 'x'],
      d: '[redacted]',
    })
    expect(redactText('GET /authorize 200')).toBe('GET /authorize 200')
    const jwe = ['eyJhbGciOiJSU0EifQ', 'a', 'b', 'c', 'the-tag'].join('.')
    expect(redactText(`got (x-${jwe}), of eyJ and a.b`)).toBe('got (x-[redacted]), of eyJ and a.b')
  })

  it('scans a long line once, whatever it contains', () => {
    // By the square of its length it would take hours.
    const long = 'eyJ-'.repeat(1_000_000)
    expect(redactText(long)).toBe(long)
    expect(redactText(`${long}.a`)).toBe('[redacted]')
  })
})
