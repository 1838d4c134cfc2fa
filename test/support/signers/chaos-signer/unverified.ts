import chaosSigner from './index.js'

/** A deliberately broken build: what it signs is believed, as that of keys held in the process is. */
export default { ...chaosSigner, inProcess: true as const }
