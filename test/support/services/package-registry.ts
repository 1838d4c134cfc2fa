import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { packageRoot } from '../../../core/package-root.js'
import { readDocument } from '../document.js'

interface Locked {
  readonly version: string
  /** Of packages for some machines only, which npm leaves out elsewhere. */
  readonly cpu?: readonly string[]
  readonly optional?: boolean
  readonly hasInstallScript?: boolean
}

export interface PackageRegistry extends AsyncDisposable {
  readonly url: string
}

/**
 * A registry for `npm install`, without a network: the packages of `package-lock.json`, as they lie in `node_modules`.
 * Optional packages that npm would have to compile are not there.
 */
export const startPackageRegistry = async (): Promise<PackageRegistry> => {
  const { packages } = JSON.parse(readDocument('package-lock.json')) as { packages: Record<string, Locked> }
  const folderOf = (path: string): string => join(packageRoot, path)
  const offered = Object.entries(packages).filter(
    ([path, { cpu, optional, hasInstallScript }]) =>
      path !== '' && (cpu !== undefined || existsSync(folderOf(path))) && !(optional && hasInstallScript),
  )
  const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

  const describe = (name: string, url: string) => {
    const paths = offered.filter(([path]) => nameOf(path) === name)
    const versions = paths.map(([path, locked]) => {
      const dist = { tarball: `${url}/-/${path}.tgz` }
      return [locked.version, { ...locked, name, dist }] as const
    })
    return {
      name,
      'dist-tags': { latest: packages[`node_modules/${name}`]?.version },
      versions: Object.fromEntries(versions),
    }
  }

  const server = createServer(({ url: asked = '' }, response) => {
    const path = decodeURIComponent(asked.slice(1))
    const [, folder] = /^-\/(.+)\.tgz$/.exec(path) ?? []
    if (folder !== undefined && offered.some(([place]) => place === folder)) {
      const place = folderOf(folder)
      const args = ['-czf', '-', '-C', dirname(place), '--exclude', `${basename(place)}/node_modules`, basename(place)]
      execFile('tar', args, { encoding: 'buffer', maxBuffer: 2 ** 28 }, (error, archive) =>
        error === null ? response.end(archive) : response.writeHead(500).end(error.message),
      )
      return
    }
    const described = describe(path, url)
    if (Object.keys(described.versions).length === 0) response.writeHead(404).end('{}')
    else response.setHeader('Content-Type', 'application/json').end(JSON.stringify(described))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
