import { isSocketPath } from '../../config/fields.js'
import { listen, type Listening, type ListenOptions } from '../http/server.js'

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken, perhaps by another Signet: stop that one, or choose another',
  EACCES: 'may not be opened by this user: choose another, such as a port from 1024 on',
  EADDRNOTAVAIL: 'is no address of this machine',
  ENOTFOUND: 'is no name that is known here',
}

/**
 * Works as `listen` for a section of the configuration. Throws the system's error, with a message that names the
 * section where there is one for that error.
 */
export const listenAs = async (
  section: 'listen' | 'admin' | 'mtls.listen',
  ...[app, options]: Parameters<typeof listen>
): Promise<Listening> => {
  try {
    return await listen(app, options)
  } catch (error) {
    const { code = '', syscall } = error as NodeJS.ErrnoException
    const reason = reasons[code]
    const hint =
      code === 'EADDRINUSE' && !isSocketPath(options.host)
        ? ': signet start --port 3100, which moves the admin listener to 3101'
        : ''
    throw reason === undefined
      ? error
      : Object.assign(new Error(`${section}: ${describe(options)} ${reason}${hint}`, { cause: error }), {
          code,
          syscall,
        })
  }
}

const describe = ({ host, port }: ListenOptions): string =>
  isSocketPath(host) ? host : `port ${String(port)} on ${host}`
