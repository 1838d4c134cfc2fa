import { describeWith } from './describe-with.js'

// Stands for all tests of a project whose servers are missing, so that the end of the run reports it.
describeWith(['mongodb', 'redis'], 'every flow on MongoDB and Redis', () => undefined)
