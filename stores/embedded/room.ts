import type { StoreRoom } from '../../core/api/storage.js'

const pageBytes = 4096

/**
 * Measured with entries in random order on pages of 4 KiB: a page is two thirds full, the key is in both trees, two
 * entries of half a page share none, and a larger one has its own pages.
 */
const footprint = (idBytes: number, recordBytes: number): number => {
  const entry = 220 + 4 * idBytes
  if (recordBytes <= 600) return entry + 1.7 * recordBytes
  if (recordBytes <= 1800) return entry + 2700
  return entry + pageBytes * Math.ceil((recordBytes + 120) / pageBytes)
}

export const createRoom = (maxBytes: number): StoreRoom => ({ capacity: () => maxBytes, footprint })
