import { askPlugin } from '../../oauth/grants/ask-plugin.js'
import type { AuthorizationDetail, DescribedDetail } from '../../oauth/requests/authorization-details.js'
import type { CommonOptions, RequestRules } from '../authorization-flow/options.js'

/** Details of one application, or of one request, on the page; how many more there are is shown as a number. */
export const mostDetails = 20

export type DescribeDetail = (detail: AuthorizationDetail, signal: AbortSignal) => Promise<DescribedDetail>

/** Describes what an application may do or asks for. A detail that cannot be described any more is named, so that it can be ended. */
export const createDescribeDetail =
  ({ detailsTypes, log }: Pick<RequestRules, 'detailsTypes'> & Pick<CommonOptions, 'log'>): DescribeDetail =>
  async (detail, signal) => {
    const type = detailsTypes.get(detail.type)
    try {
      if (type)
        return await askPlugin('a type of authorization_details', signal, async () => type.describe(detail, signal))
    } catch (error) {
      log.error('An authorization detail of an account page could not be described', { type: detail.type }, error)
    }
    return { title: { en: detail.type }, lines: [] }
  }
