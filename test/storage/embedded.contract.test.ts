import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { storageContract } from '../support/stores/storage-contract.js'

const directory = mkdtempSync(join(tmpdir(), 'signet-contract-'))
afterAll(() => rmSync(directory, { recursive: true }))

storageContract('embedded', (clock) => openEmbedded({ path: join(directory, 'store'), clock }))
