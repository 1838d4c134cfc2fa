import '../../../core/unavailable.js'
import '../../../test/support/clock.js'
