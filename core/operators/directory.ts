import type { RecordStore } from '../storage/ports.js'
import {
  credentialId,
  type ConfiguredOperator,
  type OperatorCredential,
  type OperatorRecord,
} from './operator-record.js'

/** An operator as the configuration and the store together define it. */
export interface KnownOperator extends OperatorRecord {
  readonly source: 'configuration' | 'store'
  /** Ids of the credentials that are in the configuration. */
  readonly fixed?: readonly string[]
}

/** Finds operators. Methods throw `Unavailable`. */
export interface OperatorDirectory {
  find(name: string): Promise<KnownOperator | undefined>
  all(): Promise<readonly KnownOperator[]>
  /** The operator with a credential, with that credential; also one who is disabled. */
  findBy(isMeant: (credential: OperatorCredential) => boolean): Promise<Found | undefined>
}

export interface Found {
  readonly operator: KnownOperator
  readonly credential: OperatorCredential
}

/** Operators in the store. They are few, so whatever looks for one of their credentials reads all of them. */
export const maxStoredOperators = 500

const merge = (configured: ConfiguredOperator | undefined, stored: OperatorRecord | undefined) => {
  if (configured === undefined) return stored && { ...stored, source: 'store' as const }
  const credentials = [...configured.credentials, ...(stored?.credentials ?? [])]
  return {
    ...configured,
    credentials,
    disabled: configured.disabled || stored?.disabled === true,
    source: 'configuration' as const,
    fixed: configured.credentials.map(credentialId),
  }
}

/** Reads every record of operators in the store. */
const readStored = async (records: Pick<RecordStore<OperatorRecord>, 'list'>): Promise<readonly OperatorRecord[]> =>
  (await records.list(undefined, maxStoredOperators)).map(({ record }) => record)

/** `configured` returns the operators of the configuration in force. */
export const createOperatorDirectory = (
  configured: () => readonly ConfiguredOperator[],
  records: Pick<RecordStore<OperatorRecord>, 'find' | 'list'>,
): OperatorDirectory => {
  const all = async (): Promise<readonly KnownOperator[]> => {
    const stored = new Map((await readStored(records)).map((record) => [record.name, record]))
    const known = configured()
    const names = new Set([...known.map(({ name }) => name), ...stored.keys()])
    return [...names].toSorted().flatMap(
      (name) =>
        merge(
          known.find((one) => one.name === name),
          stored.get(name),
        ) ?? [],
    )
  }
  return {
    all,
    find: async (name) =>
      merge(
        configured().find((one) => one.name === name),
        await records.find(name),
      ),
    async findBy(isMeant) {
      for (const operator of await all()) {
        const credential = operator.credentials.find(isMeant)
        if (credential !== undefined) return { operator, credential }
      }
      return undefined
    },
  }
}
