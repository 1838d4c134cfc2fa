import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onContinuousIntegration } from './table.js'

/** Tests start the product as users do, from `dist/`: it must be there and be this source. */
export default (): void => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  // Who runs named files runs them often: for them what has changed is written without a check of types.
  const quick =
    !onContinuousIntegration() && process.argv.some((text) => text.includes('.test') || text.includes('test/'))
  const { status, stdout } = spawnSync(process.execPath, ['.ci/build.js', ...(quick ? ['--for-start'] : [])], {
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
