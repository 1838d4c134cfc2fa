import '../../plugins/grants/loan/index.js'
import '../storage/redis/guard.js'
