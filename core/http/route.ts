import type { Endpoint } from '../endpoints/endpoint.js'

/**
 * One row of a route table: an endpoint at the path where it is served. The rows of the admin listener do not belong
 * to declared endpoints.
 */
export type Route = Pick<
  Endpoint,
  | 'path'
  | 'methods'
  | 'body'
  | 'cors'
  | 'errorCodes'
  | 'errorTitle'
  | 'problems'
  | 'encodedIds'
  | 'fromMemory'
  | 'answer'
>
