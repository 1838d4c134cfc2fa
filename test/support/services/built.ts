import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onContinuousIntegration } from './table.js'

/** Tests start the product as users do, from `dist/`: it must be there and be this source. */
export default (): void => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, ['.ci/build.js'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status === 0) return
  if (onContinuousIntegration()) throw new Error(`The build failed\n${stdout}`)
  const [first = ''] = stdout.split('\n')
  console.error(
    `The build has errors (npm run build), so tests that start the product may run something else: ${first}`,
  )
}
