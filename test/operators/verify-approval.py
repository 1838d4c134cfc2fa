"""Verifies each approval of an audit log from its lines alone: python3 verify-approval.py audit.jsonl"""

import base64
import hashlib
import json
import sys

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def number(text):
    return int.from_bytes(decode(text), "big")


def verify(event):
    document = event["document"].encode()
    client_data, authenticator_data = decode(event["client_data"]), decode(event["authenticator_data"])
    said = json.loads(client_data)
    assert said["type"] == "webauthn.get"
    assert decode(said["challenge"]) == hashlib.sha256(document).digest()
    assert said["origin"] == event["origin"]
    assert authenticator_data[:32] == hashlib.sha256(event["rp_id"].encode()).digest()
    assert authenticator_data[32] & 5 == 5, "present and verified"
    key = event["public_key"]
    assert key["kty"] == "EC" and key["crv"] == "P-256"
    public = ec.EllipticCurvePublicNumbers(number(key["x"]), number(key["y"]), ec.SECP256R1()).public_key()
    signed = authenticator_data + hashlib.sha256(client_data).digest()
    public.verify(decode(event["signature"]), signed, ec.ECDSA(SHA256()))
    action = json.loads(document)
    # RFC 8785 for these documents: no numbers but small integers, and no characters beyond the basic plane in names.
    canonical = json.dumps(action, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert canonical.encode() == document
    assert event["operator"] != action["requested_by"]["operator"]
    print(event["operator"], "approved", action["action"], action["object"])


with open(sys.argv[1], encoding="utf-8") as lines:
    for line in lines:
        entry = json.loads(line)
        if entry["event"] == "approval.given":
            verify(entry)
