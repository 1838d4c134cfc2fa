import './open-redis.js'
