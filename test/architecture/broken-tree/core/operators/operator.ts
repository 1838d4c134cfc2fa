// An operator knows no route.
import '../endpoints/revoke.js'
