export * from '../unavailable.js'
