/**
 * Of the rules that a store keeps, as `signet-idp/testing` states them. It rises with each rule that an adapter could have kept to
 * before and now does not.
 */
export const storageContractVersion = 4
