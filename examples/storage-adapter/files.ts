import { createHash, randomUUID } from 'node:crypto'
import { link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineStorage, keptSeconds, nextDecision, nextPoll, nextRedemption } from 'signet-idp/storage'
import { Unavailable, viewDeviceCode } from 'signet-idp/storage'
import type { Clock, DeviceCodeStore, RecordDecision, Redemption, RefreshFamily } from 'signet-idp/storage'
import type { StorageBackend, StoredDeviceCode } from 'signet-idp/storage'
import { z } from 'zod'

interface Entry {
  readonly id: string
  readonly value: unknown
  /** Milliseconds since the epoch; null: for ever. */
  readonly until: number | null
}

/** What a step answers, and what is to be stored; `write` absent: all stays as it is. */
interface Step<Result> {
  readonly result: Result
  readonly write?: { readonly value: unknown; readonly until: number | null }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code
const isId = (id: string) => id.length > 0 && id.length <= 512

/** A folder for each record, in it a file for each version. A version is written once: `link` fails where one is. */
const openTable = (path: string, clock: Clock, component: string) => {
  const inFlight = new Set<Promise<unknown>>()
  let closed = false

  const call = async <T>(work: () => Promise<T>): Promise<T> => {
    if (closed) throw new Unavailable(component, 'no', 'the store is closed')
    const working = work().catch((error: unknown) => {
      if (codeOf(error) === undefined) throw error
      throw new Unavailable(component, 'unknown', 'the files cannot be used', { cause: error })
    })
    inFlight.add(working)
    return working.finally(() => inFlight.delete(working))
  }

  const folderOf = (collection: string, id: string) =>
    join(path, collection, createHash('sha256').update(JSON.stringify(id)).digest('hex'))

  const read = async (folder: string): Promise<{ version: number; entry: Entry | undefined }> => {
    const names = await readdir(folder).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    })
    const version = names.reduce((newest, name) => (/^\d+$/.test(name) ? Math.max(newest, Number(name)) : newest), 0)
    if (version === 0) return { version, entry: undefined }
    const entry = JSON.parse(await readFile(join(folder, String(version)), 'utf8')) as Entry
    return { version, entry: entry.until === null || clock() < entry.until ? entry : undefined }
  }

  const find = (collection: string, id: string) => call(async () => (await read(folderOf(collection, id))).entry)

  /** Of all that saw a version, one writes the next; the others look again. */
  const update = <Result>(collection: string, id: string, step: (entry: Entry | undefined) => Step<Result>) =>
    call(async () => {
      const folder = folderOf(collection, id)
      for (;;) {
        const { version, entry } = await read(folder)
        const { result, write } = step(entry)
        if (write === undefined) return result
        await mkdir(folder, { recursive: true })
        const draft = join(folder, randomUUID())
        await writeFile(draft, JSON.stringify({ id, ...write }), { flush: true })
        try {
          await link(draft, join(folder, String(version + 1)))
          return result
        } catch (error) {
          if (codeOf(error) !== 'EEXIST') throw error
        } finally {
          await rm(draft)
        }
      }
    })

  const list = (collection: string) =>
    call(async () => {
      await mkdir(join(path, collection), { recursive: true })
      const folders = await readdir(join(path, collection))
      const entries = await Promise.all(folders.map((folder) => read(join(path, collection, folder))))
      return entries.flatMap(({ entry }) => entry ?? [])
    })

  const close = async () => {
    closed = true
    await Promise.allSettled(inFlight)
  }

  return { find, update, list, close }
}

const gone = { value: null, until: 0 }

const open = (path: string, clock: Clock, component: string): StorageBackend => {
  const { find, update, list, close } = openTable(path, clock, component)
  const after = (seconds: number) => clock() + seconds * 1000

  /** Throws when there is one. */
  const create = async (name: string, id: string, value: unknown, until: number | null) => {
    if (!isId(id)) throw new RangeError('an id has 1 to 512 characters')
    const created = await update(name, id, (entry) =>
      entry === undefined ? { result: true, write: { value, until } } : { result: false },
    )
    if (!created) throw new Error('the id exists')
  }

  return {
    oneTime: <T>(name: string) => ({
      put: (id, record, ttlSeconds) => create(name, id, { record, used: false }, after(ttlSeconds)),
      find: async (id) => ((await find(name, id))?.value as { record: T } | undefined)?.record,
      findUnused: async (id) => {
        const stored = (await find(name, id))?.value as { record: T; used: boolean } | undefined
        return stored?.used === false ? stored.record : undefined
      },
      redeem: (id) =>
        update<Redemption<T>>(name, id, (entry) => {
          if (entry === undefined) return { result: { outcome: 'unknown' } }
          const { record, used } = entry.value as { record: T; used: boolean }
          if (used) return { result: { outcome: 'replayed', record } }
          return { result: { outcome: 'won', record }, write: { value: { record, used: true }, until: entry.until } }
        }),
    }),

    records: <T>(name: string) => ({
      find: async (id) => (await find(name, id))?.value as T | undefined,
      put: async (id, record, { ttlSeconds, onlyIfAbsent = false } = {}) => {
        if (!isId(id)) throw new RangeError('an id has 1 to 512 characters')
        const until = ttlSeconds === undefined ? null : after(ttlSeconds)
        return update(name, id, (entry) =>
          onlyIfAbsent && entry !== undefined ? { result: false } : { result: true, write: { value: record, until } },
        )
      },
      remove: (id) =>
        update(name, id, (entry) => (entry === undefined ? { result: false } : { result: true, write: gone })),
      update: async <Result>(id: string, decide: RecordDecision<T, Result>) => {
        if (!isId(id)) throw new RangeError('an id has 1 to 512 characters')
        return update(name, id, (entry) => {
          const { result, write } = decide(entry?.value as T | undefined, entry?.until ?? undefined)
          if (write === undefined) return { result }
          return { result, write: write === null ? gone : { value: write.record, until: write.expiresAt ?? null } }
        })
      },
      list: async (start, limit) => {
        const byCodePoint = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
        return (await list(name))
          .filter(({ id }) => start === undefined || byCodePoint(id, start) > 0)
          .sort((a, b) => byCodePoint(a.id, b.id))
          .slice(0, limit)
          .map(({ id, value }) => ({ id, record: value as T }))
      },
    }),

    refreshFamilies: <T>(name: string) => ({
      start: (family, record, idleTtlSeconds) =>
        create(name, family, record, Math.min(after(idleTtlSeconds), record.absoluteExpiry)),
      find: async (family) => (await find(name, family))?.value as RefreshFamily<T> | undefined,
      rotate: (family, { presented, successor, idleTtlSeconds }) =>
        update<Redemption<RefreshFamily<T>>>(name, family, (entry) => {
          if (entry === undefined) return { result: { outcome: 'unknown' } }
          const record = entry.value as RefreshFamily<T>
          if (record.current !== presented) return { result: { outcome: 'replayed', record } }
          const previous = successor && { hash: presented, salt: successor.salt, rotatedAt: clock() }
          const rotated = successor && previous ? { ...record, current: successor.hash, previous } : record
          const until = Math.min(after(idleTtlSeconds), record.absoluteExpiry)
          return { result: { outcome: 'won', record: rotated }, write: { value: rotated, until } }
        }),
      remove: (family) => update(name, family, () => ({ result: undefined, write: gone })),
    }),

    replayGuard: (name) => ({
      claim: (namespace, id, ttlSeconds) =>
        update(name, JSON.stringify([namespace, id]), (entry) =>
          entry === undefined ? { result: true, write: { value: true, until: after(ttlSeconds) } } : { result: false },
        ),
    }),

    revocations: (name) => {
      const endedBefore = async (id: string) => (await find(name, id))?.value as number | undefined
      const revokeBefore = (id: string, before: number, ttlSeconds: number) =>
        update(name, id, (entry) => ({
          result: undefined,
          write: {
            value: Math.max(before, (entry?.value as number | undefined) ?? 0),
            until: Math.max(after(ttlSeconds), entry?.until ?? 0),
          },
        }))
      return {
        // The ids of the two are different ones: what is revoked as a whole ended at no moment.
        revoke: (id, ttlSeconds) => revokeBefore(id, 0, ttlSeconds),
        revokeBefore,
        isRevoked: async (ids, began) => {
          const [ended, ...found] = await Promise.all([began && endedBefore(began.id), ...ids.map(endedBefore)])
          return found.some((one) => one !== undefined) || (began !== undefined && began.at < (ended ?? 0))
        },
        endedBefore,
      }
    },

    counters: (name) => ({
      update: (namespace, id, decide) =>
        update(name, JSON.stringify([namespace, id]), (entry) => {
          const state = entry?.value as Parameters<typeof decide>[0]
          const { result, write } = decide(state, clock(), entry?.until ?? undefined)
          if (write === undefined) return { result }
          return { result, write: write === null ? gone : { value: write.state, until: write.forgetAt } }
        }),
    }),

    deviceCodes: <Request, Approval>(name: string): DeviceCodeStore<Request, Approval> => {
      type Stored = StoredDeviceCode<Request, Approval>
      const userCodes = `${name}_user_codes`
      const viewed = async (id: string) => {
        const entry = await find(name, id)
        return entry && viewDeviceCode(entry.value as Stored, clock())
      }
      const idOf = async (userCode: string) => (await find(userCodes, userCode))?.value as string | undefined
      const change = <Result>(id: string, step: (stored: Stored) => { result: Result; write?: Stored }) =>
        update<Result | { readonly outcome: 'unknown' }>(name, id, (entry) => {
          if (entry === undefined) return { result: { outcome: 'unknown' } }
          const { result, write } = step(entry.value as Stored)
          return write === undefined ? { result } : { result, write: { value: write, until: entry.until } }
        })
      return {
        start: async (id, record, ttlSeconds) => {
          const until = after(keptSeconds(ttlSeconds))
          await create(name, id, { ...record, expiresAt: after(ttlSeconds) }, until)
          const isFree = await update(userCodes, record.userCode, (entry) =>
            entry === undefined ? { result: true, write: { value: id, until } } : { result: false },
          )
          if (!isFree) await update(name, id, () => ({ result: undefined, write: gone }))
          return isFree
        },
        find: viewed,
        findByUserCode: async (userCode) => {
          const id = await idOf(userCode)
          return id === undefined ? undefined : viewed(id)
        },
        poll: (id) => change(id, (stored) => nextPoll(stored, clock())),
        decide: async (userCode, decision) =>
          change((await idOf(userCode)) ?? '', (stored) => nextDecision(stored, decision, clock())),
        redeem: (id) => change(id, (stored) => nextRedemption(stored, clock())),
      }
    },

    // What may be kept, and what an entry of it costs: a folder, a file, and what is written twice.
    room: { capacity: () => 1024 ** 3, footprint: (idBytes, recordBytes) => 8192 + 2 * idBytes + 2 * recordBytes },

    ping: async (signal) => {
      if (signal.aborted) throw new Unavailable(component, 'no', 'no answer in time')
      await find('ping', 'ping')
    },
    [Symbol.asyncDispose]: close,
  }
}

export default defineStorage({
  name: 'files',
  apiVersion: 1,
  contract: 4,
  options: z.strictObject({ path: z.string().min(1) }),
  open: async ({ path }, { clock, component }) => open(path, clock, component),
})
