import { sha256 } from '../device/digest.mjs'

export const names = [sha256]
