import { createHash } from 'node:crypto'
import Koa from 'koa'
import { log } from '../../core/observe/log.js'

export const sha256 = [createHash, Koa, log]
