import '../cli/colours.js'
import 'lmdb'
