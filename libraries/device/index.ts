/** `signet-idp/device`: enrols a key, keeps its attestation, signs requests. For browsers and for Node. */
export type { Approval, ApprovalRequest, Decision } from './approvals.js'
export type { Enrolment, EvidenceRequest } from './ceremony.js'
export { createDevice, type Device, type DeviceOptions } from './device.js'
export { DeviceError, type DeviceErrorCode } from './errors.js'
export { indexedDbStore } from './indexeddb-store.js'
export type { DeviceKey, KeyPair, PublicJwk } from './key.js'
export type { SignOptions } from './sign.js'
export { memoryStore, type DeviceRecord, type DeviceStore } from './store.js'
