import type { LoginOrigin } from '../../interaction/sign-in-method.js'
import type { EndpointRequest } from '../message.js'
import type { Flow } from './flow.js'

/** The key under which guesses at the password of `username` are counted. Throws `Unavailable`. */
export const findLoginOrigin = async (
  http: EndpointRequest,
  { cookies, knownBrowsers }: Pick<Flow, 'cookies' | 'knownBrowsers'>,
  username: string,
): Promise<LoginOrigin> => {
  const knownBrowser = await knownBrowsers.find(http.cookie(cookies.knownBrowser), username)
  return { address: http.address, ...(knownBrowser !== undefined && { knownBrowser }) }
}
