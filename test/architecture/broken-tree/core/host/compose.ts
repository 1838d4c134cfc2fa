import '../../plugins/grants/loan/index.js'
import '../../stores/redis/guard.js'
