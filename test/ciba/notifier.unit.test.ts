import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { findContributionFault } from '../../core/modules/contribution-kinds.js'
import type { Log } from '../../core/observe/log.js'
import { createNotifyDevices, type ApprovalNotifier } from '../../core/oauth/ciba/notifier.js'
import { Unavailable } from '../../core/unavailable.js'

const said: string[] = []
const log: Log = {
  ...{ debug() {}, info() {} },
  warn: (message) => void said.push(message),
  error: (message, fields, cause) =>
    void said.push(`${message}: ${JSON.stringify(fields)} ${cause === undefined ? '' : 'bug'}`),
}

// No service runs in a file whose timers stand still: what it begins meanwhile, a call to its store for one, would never end.

describe('waking devices', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('a hanging notifier is abandoned, and holds a bounded number of requests', async () => {
    const signals: AbortSignal[] = []
    const hangs: ApprovalNotifier = {
      name: 'hangs',
      notify: ({ signal }) => new Promise(() => void signals.push(signal)),
    }
    const notify = createNotifyDevices({
      log,
      notifiers: [
        hangs,
        {
          name: 'throws',
          notify: () => {
            throw new Error('a bug')
          },
        },
        { name: 'is down', notify: () => Promise.reject(new Unavailable('push', 'no', 'it is down')) },
      ],
    })
    notify('alice', 300)
    await vi.advanceTimersByTimeAsync(2999)
    expect(said).toEqual([expect.stringMatching(/"throws".* bug$/), expect.stringMatching(/"is down".*it is down"} $/)])
    await vi.advanceTimersByTimeAsync(1)
    expect(said[2]).toMatch(/"hangs".*too long/)
    expect(signals[0]?.aborted).toBe(true)
    const flood = createNotifyDevices({ log, notifiers: [hangs] })
    for (let count = 0; count < 300; count++) flood('alice', 300)
    expect(signals).toHaveLength(1 + 256)
    await vi.advanceTimersByTimeAsync(3000)
    flood('alice', 300)
    expect(signals).toHaveLength(1 + 256 + 1)
  })
})

it('one without a name is refused', () => {
  expect(findContributionFault({ approvalNotifiers: [{ notify: () => undefined }] })).toMatch(/without name or notify/)
  expect(findContributionFault({ approvalNotifiers: [{ name: 'push' }] })).toMatch(/without name or notify/)
})
