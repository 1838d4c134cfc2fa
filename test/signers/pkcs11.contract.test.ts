import { allAlgorithms } from '../../core/jose/algorithms.js'
import { signerContract } from '../support/signers/signer-contract.js'
import { describeWith } from '../support/services/describe-with.js'
import { softBackend } from '../support/signers/softhsm/backend.js'
import { realAlgorithms, realBackend } from '../support/signers/softhsm/real-backend.js'

describeWith('softhsm2', 'SoftHSM', () => signerContract('PKCS#11 through SoftHSM', softBackend, allAlgorithms, true))

/** Your own token: see docs/signers.md. */
if (realAlgorithms.length > 0)
  signerContract('PKCS#11 through the token of the environment', realBackend, realAlgorithms)
