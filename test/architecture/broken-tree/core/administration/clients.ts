// A change knows no command.
import '../cli/start.js'
