import { readDeployment, type DeploymentOptions } from './deployment.js'
import type { PeopleAdministration } from './people-administration.js'

/** Opens the administration of people that the options of a command name. Throws `CommandFailed`, `ConfigurationError`. */
export const openPeople = async (options: DeploymentOptions): Promise<PeopleAdministration> => {
  if (options.admin === undefined)
    return (await import('./stored-people.js')).storedPeople(await readDeployment(options))
  const { connectTo } = await import('./remote/service.js')
  return (await import('./remote/remote-people.js')).remotePeople(connectTo(options.admin))
}
