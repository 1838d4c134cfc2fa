import { stringify } from 'yaml'
import type { Config } from './schema.js'

/** The configuration in force as YAML, for people. Secrets show as `[secret]`. */
export const describeConfig = (config: Config): string => stringify(JSON.parse(JSON.stringify(config)))
