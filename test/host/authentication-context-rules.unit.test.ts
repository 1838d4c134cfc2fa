import { describe, expect, it } from 'vitest'
import type { Salvaged } from '../../config/explain.js'
import type { Config } from '../../config/schema.js'
import { authenticationContextRules } from '../../core/checks/authentication-context-rules.js'
import type { Deployment } from '../../core/checks/rule.js'
import { formatPath, type Path } from '../../core/format-path.js'

const problemsOf = (
  config: Salvaged<Config>,
  methods?: readonly string[],
  defaults?: readonly string[],
  grants: readonly string[] = [],
) => {
  const problems: string[] = []
  const deployment = {
    config,
    clients: [defaults && { default_acr_values: defaults }],
    registries: {
      signIn: new Map(methods?.map((name) => [name, { amr: [name] }])),
      grants: new Map(grants.map((name) => [name, undefined])),
    },
    report: (path: Path, message: string) => void problems.push(`${formatPath(path)} ${message}`),
    warn: () => undefined,
    isValid: () => true,
  } as unknown as Deployment
  for (const rule of authenticationContextRules) rule(deployment)
  return problems
}

const contexts = [
  { acr: 'low', methods: ['pwd'] },
  { acr: 'high', methods: ['pwd', 'otp'] },
]

describe('acr_values_supported', () => {
  it('finds an acr that no sign-in could have, and a repeated one', () => {
    expect(problemsOf({ acr_values_supported: contexts }, ['pwd', 'otp'])).toEqual([])
    expect(problemsOf({ acr_values_supported: contexts })).toEqual([])
    expect(problemsOf({ acr_values_supported: [...contexts, contexts[0]!] }, ['pwd'])).toEqual([
      expect.stringMatching(/^acr_values_supported\[1\]\.methods\[1\] is the amr of no sign-in method; there are pwd/),
      'acr_values_supported[2].acr stands here twice',
    ])
  })

  it('accepts the acr of an approval on a device, if such approvals are configured', () => {
    const onDevice = { acr_values_supported: [{ acr: 'device', methods: ['pop'] }] }
    expect(problemsOf(onDevice, ['pwd'])).toHaveLength(1)
    expect(problemsOf(onDevice, ['pwd'], undefined, ['urn:openid:params:grant-type:ciba'])).toEqual([])
  })

  it('contains every value that something requires', () => {
    const config = { acr_values_supported: contexts, userinfo: { acr_values: ['high', 'hihg'] } }
    expect(problemsOf(config, undefined, ['low', 'Low'])).toEqual([
      'userinfo.acr_values[1] is none of acr_values_supported; did you mean `high`?',
      'clients[0].default_acr_values[1] is none of acr_values_supported; did you mean `low`?',
    ])
  })
})
