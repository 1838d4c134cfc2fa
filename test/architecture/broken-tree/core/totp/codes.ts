// Codes know no sessions.
import '../interaction/session.js'
