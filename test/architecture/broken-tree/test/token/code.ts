// tests-share-test-support
import '../device/code.js'
