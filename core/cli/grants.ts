import { collections } from '../host/collections.js'
import { grantLifetime } from '../host/open-ring.js'
import { changeStores, readDeployment, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'

export interface GrantOptions extends DeploymentOptions {
  readonly json?: true
}

/** `signet grants revoke`: what `/revoke` does with a refresh token, for whoever has only the audit log. */
export const revokeGrant = async (grantId: string, options: GrantOptions): Promise<void> => {
  if (!/^[\w-]{1,128}$/.test(grantId)) throw new CommandFailed('This is not the id of a grant.')
  const config = await readDeployment(options)
  await changeStores(config, { action: 'grant.revoke', grant_id: grantId }, async (stores) => {
    await collections(stores).revocations.revoke(grantId, grantLifetime(config))
    return true
  })
  if (options.json) return printJson({ grant_id: grantId, state: 'revoked' })
  print(`Revoked ${grantId}`)
}
