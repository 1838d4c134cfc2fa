interface IssueSink {
  addIssue(issue: { readonly code: 'custom'; readonly message: string }): void
}

/** For `superRefine` of zod: what `findFault` says of an option becomes its message; undefined means that there is no fault. */
export const reportFault =
  <Value = string>(findFault: (value: Value) => string | undefined) =>
  (value: Value, context: IssueSink): void => {
    const message = findFault(value)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  }
