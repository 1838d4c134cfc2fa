/** `signet-idp/storage`: what stores need. */
export type { Clock } from '../clock.js'
export { atMost, until, withDeadline, within } from '../deadline.js'
export { createDiskSpace } from '../disk-space.js'
export type { EphemeralStore, LastingStore, StorageModule, StorageServices } from '../modules/contract.js'
export { defineStorage } from '../modules/contract.js'
export { BadOption } from '../storage/bad-option.js'
export type { DeviceCodeStep, StoredDeviceCode } from '../storage/device-codes.js'
export { keptSeconds, nextDecision, nextPoll, nextRedemption, viewDeviceCode } from '../storage/device-codes.js'
export { maxSizeMb } from '../storage/max-size-option.js'
export type {
  CounterDecision,
  CounterStep,
  CounterStore,
  DeviceCode,
  DeviceCodeState,
  DeviceCodeStore,
  DevicePoll,
  EphemeralBackend,
  EphemeralReplayGuard,
  OneTimeStore,
  RecordDecision,
  RecordLookup,
  RecordStore,
  Redemption,
  RefreshFamily,
  RefreshFamilyStore,
  ReplayGuard,
  RevocationStore,
  Rotation,
  StorageBackend,
  StorageSchema,
  StoreRoom,
} from '../storage/ports.js'
export { Unavailable } from '../unavailable.js'
