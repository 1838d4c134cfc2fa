import type { ResponseMode } from './authorization-request.js'

/** The modes by the value of `response_mode`. `jwt` stands for the default of the response type (JARM §2.3.4). */
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

/** Absent: `query`. Returns undefined for an unknown mode. */
export const findResponseMode = (name = 'query'): ResponseMode | undefined => responseModes.get(name)

export const isSignedMode = (mode: ResponseMode): boolean => mode.endsWith('.jwt')
