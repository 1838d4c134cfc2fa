"""Moto's KMS, which signs digests as KMS does: moto itself hashes them once more (it says that DIGEST is not implemented)."""

import sys

from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from moto import server
from moto.kms import utils


def sign_ecdsa(self, message, signing_algorithm):
    assert signing_algorithm == "ECDSA_SHA_256" and len(message) == 32
    return self.private_key.sign(message, ec.ECDSA(Prehashed(SHA256())))


def sign_rsa(self, message, signing_algorithm):
    assert signing_algorithm == "RSASSA_PKCS1_V1_5_SHA_256" and len(message) == 32
    return self.private_key.sign(message, padding.PKCS1v15(), Prehashed(SHA256()))


utils.ECDSAPrivateKey.sign = sign_ecdsa
utils.RSAPrivateKey.sign = sign_rsa
server.main(sys.argv[1:])
