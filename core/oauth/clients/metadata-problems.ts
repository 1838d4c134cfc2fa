import type { z } from 'zod'

/** What is wrong with one member, in the words of who wrote it. */
export const explainProblem: z.core.$ZodErrorMap = (issue) => {
  if (issue.input === undefined) return 'is required'
  if (issue.code === 'invalid_type')
    return `must be ${issue.expected === 'string' ? 'a string (put it in quotes)' : `of type ${issue.expected}`}`
  if (issue.code === 'invalid_value') return `must be ${issue.values.map(String).join(' or ')}`
  return undefined
}

/** `jwks.keys[0].kty` */
export const formatPath = (path: readonly PropertyKey[]): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${String(part)}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('')
