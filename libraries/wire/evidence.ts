/**
 * What evidence signs where the hardware has a key of its own and cannot sign with the enrolled one: the value of
 * `POST /challenge` and the thumbprint of the enrolled key (RFC 7638), as UTF-8.
 */
export const evidenceStatement = (challenge: string, jkt: string): string => `${challenge}.${jkt}`
