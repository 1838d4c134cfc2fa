import { definePlugin, Unavailable } from 'signet-idp'
import { z } from 'zod'

const options = z.strictObject({ url: z.url(), token: z.string() })
const found = z.object({ id: z.string(), claims: z.record(z.string(), z.json()) })

export default definePlugin({
  name: 'directory',
  apiVersion: 1,
  options,
  create({ url, token }) {
    /** The person, or undefined where the directory answers 404. */
    const ask = async (/** @type {string} */ path, /** @type {object} */ body, /** @type {AbortSignal} */ signal) => {
      try {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
        const response = await fetch(new URL(path, url), {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
          signal,
        })
        if (response.status === 404) return undefined
        if (!response.ok) throw new Error(`status ${response.status}`)
        return found.parse(await response.json())
      } catch (cause) {
        throw new Unavailable('directory', 'no', 'The directory did not answer.', { cause })
      }
    }
    return {
      signIn: [
        {
          id: 'directory',
          kind: 'form',
          amr: ['pwd'],
          begin: async () => ({ kind: 'form', fields: 'password' }),
          async finish({ signal }, { username, password }) {
            const person = await ask('/authenticate', { username, password }, signal)
            if (person === undefined) return { outcome: 'refused' }
            return { outcome: 'passed', subject: person.id, amr: ['pwd'] }
          },
        },
      ],
      accounts: {
        async find(subject, signal) {
          const person = await ask('/person', { id: subject }, signal)
          return person && { subject: person.id, claims: person.claims }
        },
      },
    }
  },
})
