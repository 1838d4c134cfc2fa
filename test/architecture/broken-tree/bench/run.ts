// bench-imports-test-support
import '../test/device/code.js'
