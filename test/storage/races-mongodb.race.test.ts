import { mongoMessageLength, openFaultProxy } from '../support/stores/fault-proxy.js'
import { startMongo } from '../support/stores/mongo-server/start.js'
import { describeWith } from '../support/services/describe-with.js'
import { describeRacesNearAndFar } from '../support/stores/races/describe-races.js'
import { primitives } from '../support/stores/races/primitives.js'

// The races of races.test.ts on MongoDB, near and far: SIGNET_RACE_ROUNDS of each verb with each delay.

describeWith('mongodb', 'MongoDB', () =>
  describeRacesNearAndFar({
    verbs: Object.keys(primitives),
    few: [10, 6, 3],
    open: async (keep) => {
      const server = keep(await startMongo())
      const { host, port, database } = server
      const proxy = keep(await openFaultProxy({ host, port, messageLength: mongoMessageLength }))
      const store = (uri: string) => ({ use: 'mongodb', uri, database }) as const
      return { near: store(server.uri()), far: store(server.uri(proxy.port)), proxy }
    },
  }),
)
