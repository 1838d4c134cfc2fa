/**
 * What evidence signs when the hardware has its own key and cannot sign with the enrolled one: the value of `POST
 * /challenge` and the thumbprint of the enrolled key (RFC 7638), as UTF-8.
 */
export const evidenceStatement = (challenge: string, jkt: string): string => `${challenge}.${jkt}`
