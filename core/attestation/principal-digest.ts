import { hash } from 'node:crypto'
import type { Principal } from './ports.js'

/** One id for a principal, in a store and elsewhere: a hash over subject, id and type, base64url. */
export const principalDigest = ({ subject, principalId, principalType }: Principal): string =>
  hash('sha256', JSON.stringify([subject, principalId, principalType]), 'base64url')
