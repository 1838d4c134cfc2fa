import { beforeAll, describe, expect, it } from 'vitest'
import { asking, type Asking, type Sent } from '../support/clients/authorize-ask.js'
import { callback, challenge } from '../support/server/authorize-provider.js'
import { provider, setUpProvider } from '../support/server/authorize-set-up.js'

setUpProvider()

let at: Asking

beforeAll(async () => {
  at = asking(provider, await provider.signedIn())
})

const R = (error: string, sent: Sent): readonly [string, Sent] => [error, sent]
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

const refusals: Record<string, readonly [error: string, sent: Sent]> = {
  'AZ06 scope twice': R('invalid_request', { scope: ['openid', 'openid'] }),
  'AZ06 nonce twice': R('invalid_request', { nonce: ['a', 'b'] }),
  'AZ06 prompt twice': R('invalid_request', { prompt: ['none', 'login'] }),
  'AZ06 an unknown parameter twice': R('invalid_request', { x: ['1', '2'] }),
  'AZ08 no PKCE, public client': R('invalid_request', {
    client_id: 'spa',
    code_challenge: undefined,
    code_challenge_method: undefined,
  }),
  'AZ08 empty challenge': R('invalid_request', { code_challenge: '' }),
  'AZ08 method without challenge': R('invalid_request', { code_challenge: undefined }),
  'AZ09 plain': R('invalid_request', { code_challenge_method: 'plain' }),
  'AZ09 method absent': R('invalid_request', { code_challenge_method: undefined }),
  'AZ09 method in lower case': R('invalid_request', { code_challenge_method: 's256' }),
  'AZ10 short': R('invalid_request', { code_challenge: challenge.slice(1) }),
  'AZ10 long': R('invalid_request', { code_challenge: `${challenge}A` }),
  'AZ10 padded': R('invalid_request', { code_challenge: `${challenge}=` }),
  'AZ10 not base64url': R('invalid_request', { code_challenge: `+${challenge.slice(1)}` }),
  'AZ10 bits that no digest has': R('invalid_request', { code_challenge: `${challenge.slice(0, -1)}N` }),
  'AZ10 line feed': R('invalid_request', { code_challenge: `${challenge}\n` }),
  'AZ11 token': R('unsupported_response_type', { response_type: 'token' }),
  'AZ11 id_token': R('unsupported_response_type', { response_type: 'id_token' }),
  'AZ11 none': R('unsupported_response_type', { response_type: 'none' }),
  'AZ11 hybrid': R('unsupported_response_type', { response_type: 'code id_token' }),
  'AZ11 not the client’s response type': R('unauthorized_client', { client_id: 'no-code' }),
  'AZ11 not the client’s grant': R('unauthorized_client', { client_id: 'service' }),
  'AZ11 missing': R('invalid_request', { response_type: undefined }),
  'AZ11 blank': R('invalid_request', { response_type: ' ' }),
  'AZ12 hybrid, reordered': R('unsupported_response_type', { response_type: 'token code' }),
  'AZ12 upper case': R('unsupported_response_type', { response_type: 'CODE' }),
  'AZ12 tab': R('unsupported_response_type', { response_type: 'code\t' }),
  'AZ13 fragment twice': R('unsupported_response_mode', { response_mode: 'fragment fragment' }),
  'AZ13 unknown mode': R('unsupported_response_mode', { response_mode: 'web_message' }),
  'AZ15 none login': R('invalid_request', { prompt: 'none login' }),
  'AZ15 consent none': R('invalid_request', { prompt: 'consent none' }),
  'AZ15 unknown prompt': R('invalid_request', { prompt: 'shout' }),
  'AZ16 -1': R('invalid_request', { max_age: '-1' }),
  'AZ16 abc': R('invalid_request', { max_age: 'abc' }),
  'AZ16 1e3': R('invalid_request', { max_age: '1e3' }),
  'AZ16 1.5': R('invalid_request', { max_age: '1.5' }),
  'AZ16 blank': R('invalid_request', { max_age: ' 1' }),
  'AZ16 beyond numbers': R('invalid_request', { max_age: '9'.repeat(400) }),
  'AZ17 unsigned': R('invalid_request', { id_token_hint: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJzdWItYWxpY2UifQ.' }),
  'AZ17 garbage': R('invalid_request', { id_token_hint: 'theirs' }),
  'AZ17 another user': R('login_required', { id_token_hint: 'ours:sub-bob' }),
  'AZ17 hint and claims contradict': R('invalid_request', {
    id_token_hint: 'ours:sub-alice',
    claims: '{"id_token":{"sub":{"value":"sub-bob"}}}',
  }),
  'AZ17 made for another client': R('invalid_request', { client_id: 'second', id_token_hint: 'ours:sub-alice' }),
  'AZ17 claims demand another user': R('login_required', { claims: '{"id_token":{"sub":{"value":"sub-bob"}}}' }),
  'AZ17 claims demand another user of userinfo': R('login_required', {
    claims: '{"userinfo":{"sub":{"value":"sub-bob"}}}',
  }),
  'AZ18 not JSON': R('invalid_request', { claims: '{' }),
  'AZ18 array': R('invalid_request', { claims: '[]' }),
  'AZ18 string': R('invalid_request', { claims: '"x"' }),
  'AZ18 null': R('invalid_request', { claims: 'null' }),
  'AZ18 id_token an array': R('invalid_request', { claims: '{"id_token":[]}' }),
  'AZ18 claim a string': R('invalid_request', { claims: '{"id_token":{"email":"x"}}' }),
  'AZ18 essential a string': R('invalid_request', { claims: '{"id_token":{"email":{"essential":"true"}}}' }),
  'AZ18 value an object': R('invalid_request', { claims: '{"id_token":{"email":{"value":{}}}}' }),
  'AZ18 values not scalars': R('invalid_request', { claims: '{"id_token":{"acr":{"values":[[]]}}}' }),
  'AZ18 sub a number': R('invalid_request', { claims: '{"id_token":{"sub":{"value":1}}}' }),
  'AZ18 deep in a claim': R('invalid_request', { claims: `{"id_token":{"acr":{"value":${nested(500)}}}}` }),
  'AZ18 more claims than anybody has': R('invalid_request', {
    claims: JSON.stringify({ id_token: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`c${i}`, null])) }),
  }),
  'AZ26 external request_uri': R('request_uri_not_supported', { request_uri: 'http://169.254.169.254/latest' }),
  'AZ26 https request_uri': R('request_uri_not_supported', { request_uri: 'https://client.example/request.jwt' }),
  registration: R('registration_not_supported', { registration: '{}' }),
  'AZ27 relative': R('invalid_target', { resource: '/api' }),
  'AZ27 fragment': R('invalid_target', { resource: 'https://api.example/#x' }),
  'AZ27 unknown': R('invalid_target', { resource: 'https://other.example/' }),
  'AZ27 one good, one unknown': R('invalid_target', { resource: ['https://api.example/', 'https://other.example/'] }),
  'AZ27 near match': R('invalid_target', { resource: 'https://api.example' }),
  'AZ28 unknown type': R('invalid_authorization_details', { authorization_details: '[{"type":"payment"}]' }),
  'AZ28 not an array': R('invalid_authorization_details', { authorization_details: '{"type":"payment"}' }),
  'AZ32 quotes': R('invalid_scope', { scope: 'openid "x"' }),
  'AZ32 backslash': R('invalid_scope', { scope: 'openid \\' }),
  'AZ32 control byte': R('invalid_scope', { scope: 'openid \u0001' }),
  'AZ32 tab for a space': R('invalid_scope', { scope: 'openid\tprofile' }),
  'AZ32 beyond ASCII': R('invalid_scope', { scope: 'openid é' }),
  'AZ32 unknown scopes alone': R('invalid_scope', { scope: 'admin groups' }),
  'AZ32 inherited scope name': R('invalid_scope', { scope: 'constructor' }),
  'no scope': R('invalid_scope', { scope: undefined }),
  'nonce too long': R('invalid_request', { nonce: 'n'.repeat(513) }),
  'nonce with a line feed': R('invalid_request', { nonce: 'a\nb' }),
  'login_hint too long': R('invalid_request', { login_hint: 'n'.repeat(257) }),
  'unknown display': R('invalid_request', { display: 'braille' }),
}

describe('refused by a redirect with error, state and iss', () => {
  it.each(Object.entries(refusals))('%s', async (_, [error, sent]) => {
    const answer = await at.expectRefusal(sent, error)
    expect(answer.searchParams.get('state')).toBe('st4te')
    await at.expectRefusal(sent, error, 'POST')
    await at.expectGood()
  })

  it('AZ06 state twice: no state is echoed, because neither is certain', async () => {
    const answer = await at.expectRefusal({ state: ['a', 'b'] }, 'invalid_request')
    expect(answer.searchParams.has('state')).toBe(false)
    await at.expectGood()
  })

  it('AN04 a state too long to echo', async () => {
    const answer = await at.expectRefusal({ state: 's'.repeat(2049) }, 'invalid_request')
    expect(answer.searchParams.has('state')).toBe(false)
    const longest = at.answerOf(await at.ask({ state: 's'.repeat(2048) }))
    expect(longest.searchParams.get('state')).toHaveLength(2048)
  })

  it('AN04 a state is measured in bytes', async () => {
    await at.expectRefusal({ state: '漢'.repeat(683) }, 'invalid_request')
    expect(at.answerOf(await at.ask({ state: '漢'.repeat(682) })).searchParams.get('state')).toHaveLength(682)
  })

  it('AZ18 claims nested 10,000 deep', async () => {
    await at.expectRefusal({ claims: `${'['.repeat(10_000)}${']'.repeat(10_000)}` }, 'invalid_request', 'POST')
    await at.expectRefusal({ claims: `{"id_token":${nested(400)}}` }, 'invalid_request')
    await at.expectRefusal({ claims: `{"id_token":${nested(12)}}` }, 'invalid_request')
    await at.expectGood()
  })

  it('AZ30 errors by form_post carry error, state and iss', async () => {
    const response = await at.ask({ response_mode: 'form_post', scope: 'admin' })
    const html = await response.text()
    expect(response.status).toBe(200)
    expect(html).toContain(`action="${callback}"`)
    expect(html).toContain('name="error" value="invalid_scope"')
    expect(html).toContain('name="state" value="st4te"')
    expect(html).toContain(`name="iss" value="${provider.issuer}"`)
    await at.expectGood()
  })
})
