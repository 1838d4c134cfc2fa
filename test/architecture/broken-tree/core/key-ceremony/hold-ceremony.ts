// A ceremony knows no command.
import '../cli/start.js'
