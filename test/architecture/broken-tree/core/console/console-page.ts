// A page of the console knows no store.
import '../collections/stores.js'
