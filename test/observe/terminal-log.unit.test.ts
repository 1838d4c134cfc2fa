import { expect, it } from 'vitest'
import { createTerminalLog } from '../../core/observe/terminal-log.js'

const linesOf = (...paths: readonly string[]): readonly string[] => {
  const printed: string[] = []
  const log = createTerminalLog((text) => printed.push(text))
  const request = { time: '2026-11-23T12:00:00Z', msg: 'request', method: 'GET', status: 404, ms: 1.4 }
  for (const path of paths) log.write(JSON.stringify({ ...request, path, request_id: '0123456789abcdef' }))
  return printed
}

it('the line of a request has nothing that a terminal would obey', () => {
  expect(linesOf('/a\u001b[31m\u202e\n\u0007b')).toEqual([
    expect.stringMatching(/^\d\d:\d\d:\d\d GET \/a\?\[31m\?\?\?b 404 1 ms 01234567\n$/),
  ])
})

it('assets have no line, but paths that only look like assets have one', () => {
  expect(linesOf('/assets/signet.css', '/tenant/assets/signet.css')).toEqual([])
  expect(linesOf('/assets/a/b', '/assetsx')).toHaveLength(2)
})
