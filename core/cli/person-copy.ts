import { isRefusal } from '../administration/administration.js'
import type { DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { printJson, printYaml } from './output.js'
import { openPeople } from './open-people.js'

export interface CopyOptions extends DeploymentOptions {
  readonly subject: string
  readonly json?: true
}

/** Implements `signet accounts export`: a copy for the person, with all lines of the audit log of this host. */
export const printCopy = async ({ subject: sub, ...options }: CopyOptions): Promise<void> => {
  const people = await openPeople(options)
  const copy = await people.copy(sub)
  if (isRefusal(copy)) throw new CommandFailed('Nothing is stored of this subject.')
  if (options.json) printJson(copy)
  else printYaml(copy)
}
