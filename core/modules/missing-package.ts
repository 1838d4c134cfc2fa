import { optionalPackages } from '../package-root.js'

const notFound = /^Cannot find package '((?:@[^/']+\/)?[^/']+)/

/** The package that an import failed to find; undefined for any other failure. */
const findMissingPackage = (error: unknown): string | undefined => {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') return undefined
  return notFound.exec(error.message)?.[1]
}

/** What to do about a package that a module needs. */
export const explainMissing = (name: string): string => {
  const range = optionalPackages[name]
  return `needs the package ${name}: run \`npm install ${range === undefined ? name : `"${name}@${range}"`}\``
}

/** Like `explainMissing`, for a module that could not be imported because an optional package of Signet is missing. */
export const explainFailedImport = (error: unknown): string | undefined => {
  const missing = findMissingPackage(error)
  return missing === undefined || optionalPackages[missing] === undefined ? undefined : explainMissing(missing)
}
