#!/usr/bin/env python3
"""Checks an envelope of ours with securesystemslib and in-toto's library, and makes one of theirs for us.

dsse_by_others.py check ENVELOPE PUBLIC.pem        exit status 0 when both take it, 1 when one refuses
dsse_by_others.py sign PAYLOAD PRIVATE.pem OUT     an envelope that securesystemslib signed
"""

import json
import pathlib
import sys

from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from in_toto.models.metadata import Envelope as InTotoEnvelope
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner, SSlibKey


def main():
    if sys.argv[1] == "check":
        text = pathlib.Path(sys.argv[2]).read_bytes()
        key = SSlibKey.from_crypto(load_pem_public_key(pathlib.Path(sys.argv[3]).read_bytes()))
        key.keyid = json.loads(text)["signatures"][0]["keyid"]
        for kind in (Envelope, InTotoEnvelope):
            envelope = kind.from_dict(json.loads(text))
            assert envelope.payload_type == "application/vnd.in-toto+json"
            try:
                if kind is Envelope:
                    envelope.verify([key], 1)
                else:
                    envelope.verify_signature({**key.to_dict(), "keyid": key.keyid})
            except Exception as error:  # each library has its own
                print(f"{kind.__module__}: {error}")
                return 1
        return 0
    signer = CryptoSigner(load_pem_private_key(pathlib.Path(sys.argv[3]).read_bytes(), None))
    envelope = Envelope(pathlib.Path(sys.argv[2]).read_bytes(), "application/vnd.in-toto+json", {})
    envelope.sign(signer)
    pathlib.Path(sys.argv[4]).write_text(json.dumps(envelope.to_dict()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
