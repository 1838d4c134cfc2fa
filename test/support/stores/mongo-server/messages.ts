import { BSON, type Document } from 'mongodb'

// OP_MSG (MongoDB Wire Protocol): header of 16 bytes, flags, then a section of kind 0, which is the document.
const headerBytes = 16
const bodyAt = headerBytes + 5
const opMessage = 2013

const bodyOf = (message: Buffer): Document | undefined =>
  message.length > bodyAt && message.readInt32LE(12) === opMessage && message[bodyAt - 1] === 0
    ? BSON.deserialize(message.subarray(bodyAt, bodyAt + message.readInt32LE(bodyAt)), { promoteValues: false })
    : undefined

/** The command of a request: its name is the document's first. */
export const commandOf = (message: Buffer): string | undefined => Object.keys(bodyOf(message) ?? {})[0]

/** The collection that a request reads from. */
export const collectionFound = (message: Buffer): string | undefined => {
  const find: unknown = bodyOf(message)?.['find']
  return typeof find === 'string' ? find : undefined
}

/** The same reply with another document in it. */
export const editReply = (message: Buffer, edit: (document: Document) => Document): Buffer => {
  const document = bodyOf(message)
  if (document === undefined) return message
  const body = Buffer.from(BSON.serialize(edit(document)))
  const edited = Buffer.concat([message.subarray(0, bodyAt), body])
  edited.writeInt32LE(edited.length, 0)
  return edited
}
