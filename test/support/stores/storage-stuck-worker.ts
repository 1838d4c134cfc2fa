import { open } from 'lmdb'

// Takes the write lock of the store, says so, and keeps it until it is killed.

const [path = ''] = process.argv.slice(2)
const root = open({ path, noSubdir: false, maxDbs: 2, name: null as unknown as string })
root.transactionSync(() => {
  process.stdout.write('locked\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
