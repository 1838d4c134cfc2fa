import { describe, expect, it } from 'vitest'
import { readPrincipal } from '../../core/attestation/read-body.js'
import { clientOnPage } from '../../core/endpoints/authorization-flow/page-form.js'
import { displayName } from '../../core/oauth/subjects/account.js'
import type { Client } from '../../core/oauth/clients/client.js'
import { metadataSchema } from '../../core/oauth/clients/client-metadata-schema.js'
import { escapeUnseen, hasInk, isPlainText, toPlainText } from '../../core/plain-text.js'
import { plainTexts, unseenTexts } from '../support/forge/unseen-texts.js'

const faultOf = (name: string) => metadataSchema.shape.client_name.safeParse(name).error?.issues[0]?.message

describe('a text that people read', () => {
  it.each(plainTexts)('may be %j', (text) => {
    expect(isPlainText(text)).toBe(true)
    expect(toPlainText(text)).toBe(text)
    expect(hasInk(text)).toBe(true)
    expect(faultOf(text)).toBeUndefined()
  })

  it.each(unseenTexts)('may not be %j, as an id or a name', (text) => {
    expect(isPlainText(text)).toBe(false)
    expect(() => readPrincipal({ subject: text, principal_id: 'p', principal_type: 'device' })).toThrow()
    expect(faultOf(text)).toMatch(/invisible/)
  })

  it('is what is seen of what somebody typed', () => {
    for (const text of unseenTexts) {
      const plain = toPlainText(text)
      expect(plain === '' || isPlainText(plain), JSON.stringify(text)).toBe(true)
    }
    expect(toPlainText(' My\u200b  key\n\u202e ')).toBe('My key')
    expect(toPlainText('\u3164 \u200b')).toBe('')
  })

  it('is the id of a client whose name nobody sees, and another claim of a person', () => {
    for (const name of ['\u3164', ' ', '\u200b\u2800', '\u00a0'])
      expect(clientOnPage({ client_id: 'shop', client_name: name } as Client).name).toBe('shop')
    expect(clientOnPage({ client_id: 'shop', client_name: 'Shop' } as Client).name).toBe('Shop')
    expect(displayName({ subject: 's-1', claims: { name: '\u3164', email: 'a@b.example' } })).toBe('a@b.example')
  })

  it('is written so that it reads as JSON in a terminal', () => {
    for (const text of unseenTexts) {
      const shown = escapeUnseen(JSON.stringify(text))
      expect(JSON.parse(shown)).toBe(text)
      expect(escapeUnseen(text)).not.toMatch(/[\u200b\u202e\u{e0041}\u3164]/u)
    }
  })
})
