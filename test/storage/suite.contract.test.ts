import { expect, it } from 'vitest'
import { checkStorage } from '../../core/testing/index.js'

it('checkStorage gives up a store that never closes', async () => {
  const hanging = { [Symbol.asyncDispose]: () => new Promise<void>(() => undefined) }
  const report = await checkStorage({ open: () => Promise.resolve(hanging as never), deadlineMs: 50 })
  expect(report.failures.at(-1)).toMatchObject({ port: 'backend', name: 'closes' })
})
