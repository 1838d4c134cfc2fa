import { json, type Endpoint } from '../endpoints/message.js'
import { OAuthError } from '../oauth/errors.js'
import { describeChanges, type Reload } from './reload.js'

/**
 * `POST /reload` of the admin listener. 200 with what changed, 400 with every problem and its path. `force=true` in a
 * form takes keys out although tokens that they signed may live.
 */
export const createReloadEndpoint =
  (reload: Reload): Endpoint =>
  async ({ form }) => {
    const force = form.values.get('force') ?? 'false'
    const unknown = [...form.values.keys(), ...form.repeated].some((name) => name !== 'force')
    if (unknown || form.repeated.size > 0 || !['true', 'false'].includes(force))
      throw new OAuthError('invalid_request', 'The one parameter is force, true or false.')
    const result = await reload({ force: force === 'true' })
    if (result.outcome === 'unchanged') return json(200, { status: 'unchanged' })
    if (result.outcome === 'reloaded')
      return json(200, { status: 'reloaded', changes: describeChanges(result.changes), forced: result.forced })
    return json(400, { status: 'refused', problems: result.problems })
  }
