import { sha256 } from '../device/digest.js'

export const names = [sha256]
