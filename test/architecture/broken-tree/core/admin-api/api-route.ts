// A route of the API knows no command.
import '../cli/start.js'
