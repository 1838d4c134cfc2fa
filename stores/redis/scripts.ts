import { createHash } from 'node:crypto'

/** The start of a script's error when it is called in another epoch. */
export const lostMarker = 'EPOCHLOST'

// Scripts for operations that one command cannot do. Each writes one key, and gives the same answer when it arrives
// twice, because the client of a cluster repeats interrupted commands. A stored value starts with its expiry in
// milliseconds by our clocks; 0 means never.

/**
 * Refuses, before anything is read or written, if KEYS[2] is given and is not the marker of this epoch: a server that
 * was emptied still knows the scripts.
 */
const checkMarker = (marker: string): string => `
if KEYS[2] and redis.call('GET', KEYS[2]) ~= '${marker}' then return redis.error_reply('${lostMarker} no such epoch') end`

/**
 * Writes ARGV[1] if there is nothing, or something that has expired at ARGV[3]. ARGV[2] is the lifetime in
 * milliseconds; 0 means for ever.
 */
const claim = `
local function write(...)
  if ARGV[2] == '0' then return redis.call('SET', KEYS[1], ARGV[1], ...) end
  return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], ...)
end
local found = write('NX', 'GET')
if not found or found == ARGV[1] then return 1 end
local expires = tonumber(string.match(found, '^%d+'))
if expires == 0 or expires > tonumber(ARGV[3]) then return 0 end
write()
return 1`

/**
 * Marks a record as used by ARGV[2], unless it has expired at ARGV[3] or was written in another epoch than ARGV[1].
 * Returns whether ARGV[2] is the user, and the record.
 */
const redeem = `
local found = redis.call('GET', KEYS[1])
if not found then return false end
local expires, epoch, state, record = string.match(found, '^(%d+)%.([%w_-]+)%.([%w_-]+)%.(.*)$')
if epoch ~= ARGV[1] or tonumber(expires) <= tonumber(ARGV[3]) then return false end
if string.sub(state, 1, 1) == 'u' then
  redis.call('SET', KEYS[1], expires .. '.' .. epoch .. '.r' .. ARGV[2] .. '.' .. record, 'KEEPTTL')
  return {1, record}
end
return {state == 'r' .. ARGV[2] and 1 or 0, record}`

/**
 * Replaces ARGV[1] ('' for nothing) by ARGV[2] for ARGV[3] milliseconds; 0 means for ever. Otherwise returns the
 * current value.
 */
const swap = `
local found = redis.call('GET', KEYS[1]) or ''
if found == ARGV[2] then return 1 end
if found ~= ARGV[1] then return found end
if ARGV[3] == '0' then redis.call('SET', KEYS[1], ARGV[2])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`

/** The script `swap` outside any epoch, which changes the marker itself. */
export const swapText = swap

export interface Script {
  readonly text: string
  readonly sha: string
}

export type ScriptName = 'claim' | 'redeem' | 'swap'

export type Scripts = Readonly<Record<ScriptName, Script>>

/**
 * The scripts of an epoch, by its stored marker. A server that has lost its memory, or never had ours, knows none of
 * them.
 */
export const scriptsOf = (marker: string): Scripts => {
  const script = (body: string): Script => {
    const text = `-- ${marker}${body}`
    return { text, sha: createHash('sha1').update(text).digest('hex') }
  }
  const guarded = (body: string): Script => script(checkMarker(marker) + body)
  return { claim: guarded(claim), redeem: guarded(redeem), swap: script(swap) }
}
