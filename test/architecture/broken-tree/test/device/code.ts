export const code = 0
