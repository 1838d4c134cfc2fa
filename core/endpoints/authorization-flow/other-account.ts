import type { EndpointRequest } from '../message.js'

/** The address of a page that asks for a sign-in although somebody is signed in. It changes nothing by itself. */
export const otherAccountUrl = (page: string): string => {
  const url = new URL(page)
  url.searchParams.set('account', 'other')
  return url.href
}

/** Was the page opened by such an address? */
export const wantsOtherAccount = ({ method, query }: EndpointRequest): boolean =>
  method === 'GET' && query.values.get('account') === 'other'
