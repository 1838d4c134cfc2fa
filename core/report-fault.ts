interface IssueSink {
  addIssue(issue: { readonly code: 'custom'; readonly message: string }): void
}

/** For zod's `superRefine`: the result of `findFault` becomes the option's message; undefined means no fault. */
export const reportFault =
  <Value = string>(findFault: (value: Value) => string | undefined) =>
  (value: Value, context: IssueSink): void => {
    const message = findFault(value)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  }
