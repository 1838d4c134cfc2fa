"""Verifies tokens by joserfc, each with the key set that a relying party has and at its time."""

import json
import sys

from joserfc import jwt
from joserfc.jwk import KeySet

algorithms = ["ES256", "RS256", "EdDSA"]
key_sets = []
verified = 0
for line in sys.stdin:
    given = json.loads(line)
    if "keys" in given:
        key_sets.append(KeySet.import_key_set(given))
        continue
    token = jwt.decode(given["token"], key_sets[given["key_set"]], algorithms=algorithms)
    jwt.JWTClaimsRegistry(now=given["now"], exp={"essential": True}, iat={"essential": True}).validate(token.claims)
    verified += 1
print(verified)
