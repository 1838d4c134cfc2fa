export const red = 31
