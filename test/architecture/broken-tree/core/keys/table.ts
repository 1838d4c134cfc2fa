import 'mongodb'
import 'ioredis'
