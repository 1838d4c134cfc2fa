import { createPrincipalRegistry, type PrincipalRegistry } from '../attestation/principal-registry.js'
import { collections } from './collections.js'
import type { Stores } from './stores.js'

/** What plugins are given as `principals`, and commands work on. */
export const openPrincipals = (stores: Stores): PrincipalRegistry => createPrincipalRegistry(collections(stores))
