import './nowhere.js'
