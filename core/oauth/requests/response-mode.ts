import type { ResponseMode } from './authorization-request.js'

/** By the value of `response_mode`; `jwt` stands for the default of the response type (JARM §2.3.4). */
const responseModes: ReadonlyMap<string, ResponseMode> = new Map([
  ['query', 'query'],
  ['fragment', 'fragment'],
  ['form_post', 'form_post'],
  ['query.jwt', 'query.jwt'],
  ['fragment.jwt', 'fragment.jwt'],
  ['form_post.jwt', 'form_post.jwt'],
  ['jwt', 'query.jwt'],
])

export const responseModesOf = (signs: boolean): readonly string[] =>
  [...responseModes.keys()].filter((name) => signs || !name.endsWith('jwt'))

/** Absent: `query`. Undefined for one that does not exist. */
export const findResponseMode = (name = 'query'): ResponseMode | undefined => responseModes.get(name)

export const isSignedMode = (mode: ResponseMode): boolean => mode.endsWith('.jwt')
