import { z } from 'zod'
import { text } from './fields.js'

/**
 * `use` is the name of a built-in store, `./file.js` beside the file, or an npm package. The module defines its
 * options.
 */
const store = z
  .strictObject({
    use: text.describe(
      '`embedded`, `mongodb`, for `storage.ephemeral` also `redis`; a file or an npm package. It determines the options.',
    ),
    options: z.unknown().optional().describe('What the store defines.'),
  })
  .transform((choice) => ({ ...choice, directory: '.' }))

type Choices<Choice> = Record<'records' | 'ephemeral', Choice>

/** Only the reader of the file knows where to look for `./file.js` and npm packages. */
export const locateStores = <Choice>(choices: Readonly<Choices<Choice>>, directory: string): Choices<Choice> => ({
  records: { ...choices.records, directory },
  ephemeral: { ...choices.ephemeral, directory },
})

/** Relative paths of built-in stores start at the working directory. */
export const storage = z
  .strictObject({
    records: store
      .prefault({ use: 'embedded' })
      .describe('What must not be lost: clients, accounts, codes, refresh tokens, revocations. Default: `embedded`.'),
    ephemeral: store
      .prefault({ use: 'embedded' })
      .describe('Sessions, sign-ins under way, counts of guesses. Default: `embedded`.'),
  })
  .prefault({})
