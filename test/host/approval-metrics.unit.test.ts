import { expect, it } from 'vitest'
import { observeBrokenGlass } from '../../core/host/instruments/approval-metrics.js'
import { createMetrics } from '../../core/observe/metrics.js'
import type { ApprovalRecord } from '../../core/operators/approval.js'
import { memoryLog } from '../support/server/http-server.js'
import { openTestAdministration } from '../support/administration.js'

const day = 86_400_000

it('reports what break glass carried out within a day, and says it once', async () => {
  const { stored } = await openTestAdministration()
  const state = { now: Date.UTC(2026, 10, 26) }
  const record: ApprovalRecord = { id: 'a', document: '{}', state: 'done', approvals: [], expiresAt: state.now + day }
  await stored.approvals.put('a', record)
  await stored.approvals.put('b', { ...record, id: 'b', brokenGlassAt: state.now - 1000 })
  const metrics = createMetrics()
  const log = memoryLog()
  const look = observeBrokenGlass(metrics, stored.approvals, { log, clock: () => state.now })
  const value = async () => /^signet_approvals_broken_glass (\d+)/m.exec((await metrics.expose()).text)?.[1]
  expect(await value()).toBe('0')
  await look()
  await look()
  expect(await value()).toBe('1')
  expect(log.lines.filter(({ message }) => message.includes('without approvals')).length).toBe(1)
  state.now += day
  await look()
  expect(await value()).toBe('0')
})
