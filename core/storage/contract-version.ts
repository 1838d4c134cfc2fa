/**
 * The version of the rules for stores that `signet-idp/testing` checks. It rises with each rule that breaks an
 * adapter that kept the earlier ones.
 */
export const storageContractVersion = 4
