import { json, type Handler, type EndpointRequest } from '../endpoints/message.js'
import { OAuthError } from '../oauth/errors.js'
import { describeChanges, type Reload } from './reload.js'

/** The form of `POST /reload`. Throws `invalid_request` for anything but `force`, once, true or false. */
export const readForce = ({ form }: Pick<EndpointRequest, 'form'>): boolean => {
  const force = form.values.get('force') ?? 'false'
  const unknown = [...form.values.keys(), ...form.repeated].some((name) => name !== 'force')
  if (unknown || form.repeated.size > 0 || !['true', 'false'].includes(force))
    throw new OAuthError('invalid_request', 'The one parameter is force, true or false.')
  return force === 'true'
}

/**
 * `POST /reload` of the admin listener. 200 with what changed, 400 with every problem and its path. `force=true` in a
 * form takes keys out although tokens that they signed may live.
 */
export const createReloadEndpoint =
  (reload: Reload): Handler =>
  async (request) => {
    const result = await reload({ force: readForce(request) })
    if (result.outcome === 'unchanged') return json(200, { status: 'unchanged' })
    if (result.outcome === 'reloaded')
      return json(200, { status: 'reloaded', changes: describeChanges(result.changes), forced: result.forced })
    return json(400, { status: 'refused', problems: result.problems })
  }
