import { readLines } from '../json-records.js'
import type { HsmEvent, HsmLogFormat } from './hsm-event.js'

/** `softHSMLog` of SoftHSM 2 puts the file and the line in front: `SoftHSM.cpp(512): Could not load the token`. */
const message = /\b([A-Za-z0-9_]+\.cpp)\((\d+)\): (.*)$/
/** RFC 3339, as `journalctl -o short-iso` and rsyslog write it. */
const isoTime = /\b(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:?\d\d)/

const readLine = (text: string): HsmEvent | undefined => {
  const said = message.exec(text)
  const [, time = '', zone = ''] = isoTime.exec(text) ?? []
  const at = Date.parse(`${time}${zone.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2')}`)
  if (said === null || Number.isNaN(at)) return undefined
  return { at, operation: said[1] ?? '', result: (said[3] ?? '').trim().slice(0, 200), signatures: 0 }
}

export const softhsm: HsmLogFormat = {
  files: 'messages of SoftHSM in syslog, with times as in RFC 3339',
  source: 'SoftHSM 2: softhsm2.conf(5), log.level; src/lib/common/log.cpp',
  uncounted: 'SoftHSM logs errors and warnings, and no signatures.',
  async *read(file) {
    for await (const line of readLines(file)) if (line.trim() !== '') yield readLine(line.replace(/\r$/, ''))
  },
}
