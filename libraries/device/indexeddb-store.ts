import { checkMembers, kinds } from '../wire/options.js'
import type { DeviceStore } from './store.js'

const table = 'device'

/**
 * Stores the record with its key in IndexedDB of the page's origin, and serialises access with the Web Locks API.
 * `name` distinguishes several devices of one origin.
 */
export const indexedDbStore = (name = 'signet-device'): DeviceStore => {
  checkMembers('indexedDbStore', { name }, { name: kinds.name })
  const run = async <T>(mode: IDBTransactionMode, ask: (records: IDBObjectStore) => IDBRequest<T>): Promise<T> => {
    const database = await open(name)
    try {
      const transaction = database.transaction(table, mode, { durability: 'strict' })
      const request = ask(transaction.objectStore(table))
      return await new Promise<T>((resolve, reject) => {
        transaction.oncomplete = () => resolve(request.result)
        transaction.onabort = () => reject(transaction.error ?? new Error('The transaction was aborted.'))
      })
    } finally {
      database.close()
    }
  }
  return {
    keepsKeys: true,
    read: () => run('readonly', (records) => records.get(name) as IDBRequest<unknown>),
    write: async (record) => {
      await run('readwrite', (records) => records.put(record, name))
    },
    remove: () => run('readwrite', (records) => records.delete(name)),
    exclusive: (work) => navigator.locks.request(name, work),
  }
}

const open = (name: string): Promise<IDBDatabase> =>
  new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(table)
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error('The database cannot be opened.'))
  })
