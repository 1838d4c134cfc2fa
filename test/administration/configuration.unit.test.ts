import { expect, it } from 'vitest'
import { loadConfig } from '../../config/load.js'
import { maskConfiguration } from '../../core/administration/configuration.js'
import { configWith, minimal } from '../support/server/config-files.js'

it('AD03: masks secrets of free-form options by their names, and passwords of addresses', async () => {
  const config = await loadConfig(
    await configWith(
      minimal(`plugins:
  - { use: ./bank.js, options: { pin: '1234', slots: [{ userPin: '5678' }], url: 'mongodb://user:hunter2@db/x' } }
`),
    ),
    {},
  )
  const text = JSON.stringify(maskConfiguration(config))
  for (const secret of ['1234', '5678', 'hunter2']) expect(text).not.toContain(secret)
  expect(text).toContain('"id_token_signing_alg":"')
  expect(text).not.toContain('"id_token_signing_alg":"[secret]"')
})
