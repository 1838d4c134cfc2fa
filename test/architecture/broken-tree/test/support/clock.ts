export const clock = 0
