import 'vitest'
import 'accepts'
