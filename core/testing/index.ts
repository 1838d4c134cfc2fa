/** For those who write plugins: `signet/testing`. */
export type { GrantAttack, HonestRequest } from './attack-grant.js'
export { attackGrant } from './attack-grant.js'
export type { Finding, Report, Rule } from './report.js'
