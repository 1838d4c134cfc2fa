import { json, type Handler, type EndpointRequest } from '../endpoints/message.js'
import { OAuthError } from '../oauth/errors.js'
import { actedByNames, readActedBy } from '../observe/acted-by.js'
import { describeChanges, type Reload, type ReloadRequest } from './reload.js'

const names: readonly string[] = ['force', ...actedByNames]

/** The form of `POST /reload`. Throws `invalid_request` for anything but `force`, true or false, and who asks, each once. */
export const readReloadRequest = ({ form, address }: Pick<EndpointRequest, 'form' | 'address'>): ReloadRequest => {
  const force = form.values.get('force') ?? 'false'
  const unknown = [...form.values.keys()].some((name) => !names.includes(name))
  const by = readActedBy(form.values, address)
  if (unknown || form.repeated.size > 0 || by === undefined || !['true', 'false'].includes(force))
    throw new OAuthError('invalid_request', 'The parameters are force, true or false, and who asks.')
  return { force: force === 'true', by }
}

/**
 * `POST /reload` of the admin listener. 200 with what changed, 400 with every problem and its path. `force=true` in a
 * form takes keys out although tokens that they signed may live.
 */
export const createReloadEndpoint =
  (reload: Reload): Handler =>
  async (request) => {
    const result = await reload(readReloadRequest(request))
    if (result.outcome === 'refused') return json(400, { status: 'refused', problems: result.problems })
    const warned = result.warnings.length > 0 && { warnings: result.warnings }
    if (result.outcome === 'unchanged') return json(200, { status: 'unchanged', ...warned })
    const { changes, forced } = result
    return json(200, { status: 'reloaded', changes: describeChanges(changes), forced, ...warned })
  }
