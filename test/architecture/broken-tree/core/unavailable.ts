export const unavailable = 503
