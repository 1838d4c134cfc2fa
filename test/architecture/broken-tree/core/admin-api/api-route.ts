// A route of the API knows no store.
import '../collections/stores.js'
