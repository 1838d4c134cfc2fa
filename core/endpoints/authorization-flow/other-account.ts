import { isOpaqueToken } from '../../opaque-token.js'
import type { EndpointRequest } from '../message.js'
import type { Flow } from './flow.js'

/** The address of a page that asks for a sign-in although a person is signed in. It changes nothing by itself. */
export const otherAccountUrl = (page: string): string => withAccount(page, 'other')

/** Whether the page was opened with such an address. */
export const wantsOtherAccount = ({ method, query }: EndpointRequest): boolean =>
  method === 'GET' && query.values.get('account') === 'other'

/** The address of another page of the same interaction, for the person chosen on the way to this one. */
export const keepChoice = ({ query }: EndpointRequest, page: string): string => {
  const choice = query.values.get('account')
  // A choice has the form of a token.
  return isOpaqueToken(choice) ? withAccount(page, choice) : page
}

/** The address of a page for the person of this choice (`People.choiceOf`). */
export const withAccount = (page: string, choice: string): string => {
  const url = new URL(page)
  url.searchParams.set('account', choice)
  return url.href
}

/** Where a person goes who is not the one that a page names. If several are signed in, they are offered first. */
export const otherPersonUrl = (
  { sessionsOf, interactions }: Pick<Flow, 'sessionsOf' | 'interactions'>,
  http: EndpointRequest,
  interactionId: string,
): string =>
  sessionsOf(http).others.length > 0
    ? interactions.pageUrl(interactionId, 'select')
    : otherAccountUrl(interactions.pageUrl(interactionId, 'login'))
