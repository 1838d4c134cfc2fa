interface IssueSink {
  addIssue(issue: { readonly code: 'custom'; readonly message: string }): void
}

/** For `superRefine` of zod: what `findFault` says of an option becomes its message; undefined is no fault. */
export const reportFault =
  (findFault: (value: string) => string | undefined) =>
  (value: string, context: IssueSink): void => {
    const message = findFault(value)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  }
