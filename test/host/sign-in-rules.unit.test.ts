import { expect, it } from 'vitest'
import { formatPath, type Path } from '../../core/format-path.js'
import type { Deployment } from '../../core/checks/rule.js'
import { signInRules } from '../../core/checks/sign-in-rules.js'

const problemsOf = (
  methods: Readonly<Record<string, readonly string[] | undefined>>,
  isValid = true,
  consent?: object,
) => {
  const problems: string[] = []
  const deployment = {
    registries: { consent, signIn: new Map(Object.entries(methods).map(([id, after]) => [id, { id, after }])) },
    report: (path: Path, message: string) => void problems.push(`${formatPath(path)} ${message}`),
    isValid: () => isValid,
  } as unknown as Deployment
  for (const rule of signInRules) rule(deployment)
  return problems
}

it('finds a sign-in method that comes after an unknown one', () => {
  expect(problemsOf({ password: undefined, totp: ['password'] })).toEqual([])
  expect(problemsOf({ password: undefined, totp: ['password', 'pasword'] })).toEqual([
    'plugins the sign-in method totp comes after pasword, which no plugin provides; did you mean `password`?',
  ])
  expect(problemsOf({ totp: ['password'] }, false)).toEqual([])
})

it('finds a consent page without a sign-in method', () => {
  const consent = { id: 'own' }
  expect(problemsOf({ password: undefined }, true, consent)).toEqual([])
  expect(problemsOf({}, true, consent)).toEqual([
    'plugins a plugin asks for consent, and none signs anybody in: add one, such as plugins/login/password',
  ])
  expect(problemsOf({})).toEqual([])
})
