import { describeCopy } from '../admin-api/people-documents.js'
import { isRefusal } from '../administration/administration.js'
import { copyPerson } from '../administration/person-copy.js'
import { administer, readDeployment, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { printJson, printYaml } from './output.js'

export interface CopyOptions extends DeploymentOptions {
  readonly subject: string
  readonly json?: true
}

/** Implements `signet accounts export`: a copy for the person, with all lines of the audit log of this host. */
export const printCopy = async ({ subject: sub, ...options }: CopyOptions): Promise<void> => {
  const config = await readDeployment(options)
  const limits = { maxBytes: Infinity, maxLines: Infinity }
  const copy = await administer(config, (administration, by) => copyPerson(administration, by, { sub, limits }))
  if (isRefusal(copy)) throw new CommandFailed('Nothing is stored of this subject.')
  if (options.json) printJson(describeCopy(copy))
  else printYaml(describeCopy(copy))
}
