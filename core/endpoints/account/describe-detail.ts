import { askPlugin } from '../../oauth/grants/ask-plugin.js'
import type { AuthorizationDetail, DescribedDetail } from '../../oauth/requests/authorization-details.js'
import type { CommonOptions, RequestRules } from '../authorization-flow/options.js'

/** Details shown of one application or request. The rest is given as a number. */
export const maxShownDetails = 20

export type DescribeDetail = (detail: AuthorizationDetail, signal: AbortSignal) => Promise<DescribedDetail>

/**
 * Describes what an application may do or asks for. A detail that can no longer be described is shown by name, so
 * that it can be revoked.
 */
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
