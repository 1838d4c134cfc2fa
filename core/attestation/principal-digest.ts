import { hash } from 'node:crypto'
import type { Principal } from './ports.js'

/** One id per principal, for stores and elsewhere: base64url hash over subject, id and type. */
export const principalDigest = ({ subject, principalId, principalType }: Principal): string =>
  hash('sha256', JSON.stringify([subject, principalId, principalType]), 'base64url')
