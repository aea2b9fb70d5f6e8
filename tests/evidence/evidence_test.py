#!/usr/bin/env python3
"""Evidence packages by the command line: from real (scripted) runs to what openssl, other libraries and forty lines of Python say.

Usage: evidence_test.py --program build/debug/bin/requal --runners build/debug/tests/runners [--metrics-python P] [--dsse-python P]
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback

import numpy as np

SOURCE = pathlib.Path(os.environ.get("REQUAL_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tests" / "cli"))
sys.path.insert(0, str(SOURCE / "tests" / "qualify"))
import qualify_test  # noqa: E402
from check_schemas import contract_problems, problems  # noqa: E402

ARGS = None
TESTS = []
DOE = ("--name", "J. Doe", "--role", "validation owner", "--reason", "criteria agreed")


def test(function):
    TESTS.append(function)
    return function


class Site(qualify_test.Case):
    """A protocol, a store, and keys made by openssl."""

    def __init__(self, folder, **kwargs):
        super().__init__(folder, **kwargs)
        self.key("doe")

    def key(self, name, *kind):
        kind = kind or ("-algorithm", "ed25519")
        private, public = self.folder / f"{name}.pem", self.folder / f"{name}.pub.pem"
        subprocess.run(["openssl", "genpkey", *kind, "-out", str(private)], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", str(private), "-pubout", "-out", str(public)], check=True, capture_output=True)
        return private, public

    def requal(self, *words, status=0, json_schema=None):
        command = [ARGS.program, *map(str, words), "--store", str(self.store)] + (["--json"] if json_schema else [])
        result = subprocess.run(command, env=self.environment(), capture_output=True, text=True, timeout=300)
        assert result.returncode == status, (words, result.returncode, result.stdout, result.stderr)
        if not json_schema:
            return result
        document, found = contract_problems(result.stdout)
        found += problems(document, json_schema, SOURCE / "schemas")
        assert not found, found
        return document

    def sign_protocol(self, name="doe"):
        return self.requal("evidence", "sign", "--protocol", self.protocol, "--key", self.folder / f"{name}.pem", *DOE, "--meaning",
                           "approver", json_schema="evidence-sign-1")

    def export(self, name="p.tar", *more, what="small", key=True):
        path = self.folder / name
        signed = ("--key", self.folder / "doe.pem", *DOE, "--meaning", "approver") if key else ()
        document = self.requal("evidence", "export", what, "-o", path, *signed, *more, json_schema="evidence-export-1")
        return path, document

    def verify(self, path, *more, status=0, key="doe"):
        words = ("--public-key", self.folder / f"{key}.pub.pem") if key else ()
        return self.requal("evidence", "verify", path, *words, *more, status=status, json_schema="evidence-verify-1")

    def wrong(self, wrongness):
        script = self.folder / "model.onnx.scripted.json"
        document = json.loads(script.read_text())
        document["wrongness"] = wrongness
        script.write_text(json.dumps(document))


def envelopes(path):
    """Texts of the signatures in a package."""
    with tarfile.open(path) as tar:
        files = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}
    index = json.loads(files["index.json"])
    manifest = json.loads(files["blobs/sha256/" + index["manifests"][0]["digest"][7:]])
    return [files["blobs/sha256/" + layer["digest"][7:]] for layer in manifest["layers"]
            if layer["annotations"]["org.opencontainers.image.title"].startswith("signatures/")]


@test
def five_runs_of_which_one_passes_show_all_five(folder):
    site = Site(folder)
    site.sign_protocol()
    drift = [{"kind": "drift", "in": "engine", "layer": "relu", "relative": 0.5}]
    site.wrong(drift)
    site.qualify(1)
    site.wrong([{"kind": "build_failure", "node": "relu", "message": "no"}])
    site.qualify(1)
    # killed in its latency series, then begun anew with other wrongness
    site.wrong([{"kind": "slow", "from_run": 1, "extra_ms": 60}])
    process = subprocess.Popen(site.command(site.protocol), env=site.environment(), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(1.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    site.wrong([{"kind": "not_finite", "in": "engine", "output": "y", "element": 0, "value": "nan", "from_run": 1}])
    site.run()
    site.wrong([])
    site.run()
    path, document = site.export()
    verified = site.verify(path)
    assert verified["valid"] and verified["verdict"] == "pass", verified
    begun = site.requal("evidence", "list", json_schema="evidence-list-1")["protocols"][0]
    assert len(verified["runs"]) == begun["runs"] == len(document["runs"]) >= 4, (begun, document)
    verdicts = [run["verdict"] for run in verified["runs"]]
    assert verdicts.count("fail") >= 2, verdicts
    assert all(run["protocol_signed"] == "before" for run in verified["runs"])
    for run in verified["runs"]:
        for gate in run["gates"]:
            assert gate["recomputed"] == "same", gate


@test
def a_signature_is_what_openssl_says(folder):
    site = Site(folder)
    site.key("ec", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    site.sign_protocol()
    site.qualify(0)
    for name, digest in (("doe", ()), ("ec", ("-digest", "sha256"))):
        path, _ = site.export("p.tar", "--key", folder / f"{name}.pem", key=False)
        (text,) = envelopes(path)
        envelope = json.loads(text)
        payload = base64.b64decode(envelope["payload"], validate=True)
        (folder / "pae").write_bytes(b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(payload), payload))
        (folder / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(folder / f"{name}.pub.pem"), "-rawin", *digest, "-in",
                   str(folder / "pae"), "-sigfile", str(folder / "sig")]
        assert subprocess.run(command, capture_output=True).returncode == 0, command
        (folder / "pae").write_bytes((folder / "pae").read_bytes() + b" ")
        assert subprocess.run(command, capture_output=True).returncode != 0
        statement = json.loads(payload)
        assert statement["predicateType"] == "urn:requal:predicate:measured-here:1"
        found = problems(statement["predicate"], "signature-measured-1", SOURCE / "schemas")
        assert not found, found
        # the protocol's signature needs its own key
        site.verify(path, "--public-key", folder / "doe.pub.pem", key=name)


@test
def other_libraries_take_our_envelopes_and_we_take_theirs(folder):
    if not ARGS.dsse_python or not pathlib.Path(ARGS.dsse_python).exists():
        print("    left out: no Python with securesystemslib and in-toto (scripts/setup test)")
        return
    others = [ARGS.dsse_python, str(SOURCE / "tests" / "evidence" / "dsse_by_others.py")]
    site = Site(folder)
    site.key("ec", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    site.sign_protocol()
    site.qualify(0)
    plain, document = site.export("plain.tar", "--digest-file", folder / "p.digest.json", key=False)
    for name in ("doe", "ec"):
        ours = folder / "ours.json"
        site.requal("evidence", "sign", "--digest-file", folder / "p.digest.json", "--key", folder / f"{name}.pem", *DOE, "--meaning",
                    "reviewer", "-o", ours, json_schema="evidence-sign-1")
        result = subprocess.run([*others, "check", ours, folder / f"{name}.pub.pem"], capture_output=True, text=True)
        assert result.returncode == 0, (name, result.stdout, result.stderr)
        other = "ec" if name == "doe" else "doe"
        assert subprocess.run([*others, "check", ours, folder / f"{other}.pub.pem"], capture_output=True).returncode == 1
        payload = base64.b64decode(json.loads(ours.read_text())["payload"])
        (folder / "payload").write_bytes(payload)
        theirs = folder / "theirs.json"
        result = subprocess.run([*others, "sign", folder / "payload", folder / f"{name}.pem", theirs], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        verified = site.verify(plain, "--signature", theirs, "--public-key", folder / "doe.pub.pem", key=name)
        assert verified["signatures"][0]["status"] == "good"


@test
def a_digest_is_signed_elsewhere_and_attached(folder):
    site = Site(folder)
    site.key("roe", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    site.sign_protocol()
    site.qualify(0)
    plain, _ = site.export("plain.tar", "--digest-file", folder / "p.digest.json", key=False)
    digest = json.loads((folder / "p.digest.json").read_text())
    assert not problems(digest, "evidence-digest-1", SOURCE / "schemas")
    signatures = []
    for name, person, meaning in (("doe", DOE, "approver"), ("roe", ("--name", "R. Roe", "--role", "application owner", "--reason", "read"),
                                                            "reviewer")):
        signatures.append(folder / f"{name}.dsse.json")
        site.requal("evidence", "sign", "--digest-file", folder / "p.digest.json", "--key", folder / f"{name}.pem", *person, "--meaning",
                    meaning, "-o", signatures[-1])
    site.requal("evidence", "attach", plain, *signatures, "-o", folder / "whole.tar", json_schema="evidence-attach-1")
    shown = site.requal("evidence", "show", folder / "whole.tar", json_schema="evidence-show-1")
    assert {s["name"] for s in shown["signatures"]} == {"J. Doe", "R. Roe"}
    policy = folder / "trust.yaml"
    policy.write_text(
        "schema: trust/1\npeople:\n"
        "  - {name: J. Doe, roles: [validation owner], keys: [{file: doe.pub.pem}]}\n"
        "  - {name: R. Roe, roles: [application owner], keys: [{file: roe.pub.pem}]}\n"
        "require:\n  - {of: protocol, meaning: approver, role: validation owner}\n"
        "  - {of: evidence, meaning: approver, role: validation owner}\n"
        "  - {of: evidence, meaning: reviewer}\ndifferent_people: true\n")
    verified = site.verify(folder / "whole.tar", "--trust", policy, key=None)
    assert verified["valid"], verified
    # Mr Roe may not sign as the validation owner, whoever says so
    site.requal("evidence", "sign", plain, "--key", folder / "roe.pem", "--name", "R. Roe", "--role", "validation owner", "--reason", "x",
                "--meaning", "approver", "-o", folder / "role.tar")
    verified = site.verify(folder / "role.tar", "--trust", policy, key=None, status=1)
    assert any("may not sign as" in failure["what"] for failure in verified["failures"]), verified["failures"]


@test
def forty_lines_of_python_say_the_same(folder):
    script = SOURCE / "docs" / "recompute_evidence.py"
    assert len(script.read_text().splitlines()) <= 40
    if not ARGS.metrics_python or not pathlib.Path(ARGS.metrics_python).exists():
        print("    left out: no Python with pycocotools (scripts/setup test)")
        return
    site = Site(folder)
    site.sign_protocol()
    _, record, _ = site.qualify(0)
    path, _ = site.export()
    result = subprocess.run([ARGS.metrics_python, str(script), str(path), str(folder / "doe.pub.pem")], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    words = result.stdout.split()
    assert "signature contents good" in result.stdout, result.stdout
    assert abs(float(words[words.index("p50_ms") + 1]) / record["latency"]["p50_ms"] - 1) < 1e-12, (result.stdout, record["latency"])
    site.key("other")
    result = subprocess.run([ARGS.metrics_python, str(script), str(path), str(folder / "other.pub.pem")], capture_output=True, text=True)
    assert "not of this key" in result.stdout


@test
def skopeo_carries_it(folder):
    if shutil.which("skopeo") is None:
        print("    left out: no skopeo here")
        return
    site = Site(folder)
    site.sign_protocol()
    site.qualify(0)
    path, _ = site.export()
    result = subprocess.run(["skopeo", "inspect", "--raw", f"oci-archive:{path}"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    manifest = json.loads(result.stdout)
    assert manifest["artifactType"] == "application/vnd.requal.evidence.v1"
    copied = folder / "copied"
    result = subprocess.run(["skopeo", "--insecure-policy", "copy", "--preserve-digests", f"oci-archive:{path}", f"oci:{copied}:x"],
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    with tarfile.open(path) as tar:
        for member in tar.getmembers():
            if member.name.startswith("blobs/"):
                assert (copied / member.name).read_bytes() == tar.extractfile(member).read(), member.name
    site.requal("evidence", "pack", copied, "-o", folder / "again.tar", json_schema="evidence-pack-1")
    assert (folder / "again.tar").read_bytes() == path.read_bytes()


@test
def a_record_that_says_more_than_its_values_is_found(folder):
    """Somebody with a key changes a verdict and makes everything else fit."""
    site = Site(folder, wrongness=[{"kind": "drift", "in": "engine", "layer": "relu", "relative": 0.5}])
    site.sign_protocol()
    document, record, run = site.qualify(1)
    (gate,) = [gate for gate in record["gates"] if gate["id"] == "parity"]
    assert gate["verdict"] == "fail"
    # The record with another verdict, through the recomputation alone: the package's digests would be made again by the forger.
    forged = forge(site, run, lambda r: (r.update(verdict="pass"), [g.update(verdict="pass") for g in r["gates"]]))
    verified = site.verify(forged, status=1)
    what = [failure["what"] for failure in verified["failures"]]
    assert any("values say" in text or "said to be" in text for text in what), what


def forge(site, run, change):
    """A package of a store in which `run` was recorded with another record: the ledger is written again from its start."""
    import hashlib
    store = site.folder / "forged-store"
    shutil.copytree(site.store, store)
    (ledger,) = (store / "ledger").glob("*.jsonl")
    record = json.loads((run / "record.json").read_text())
    change(record)
    text = (json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
    old = "sha256:" + hashlib.sha256((run / "record.json").read_bytes()).hexdigest()
    new = "sha256:" + hashlib.sha256(text).hexdigest()
    blob = store / "blobs" / "sha256" / new[7:9] / new[7:]
    blob.parent.mkdir(exist_ok=True)
    blob.write_bytes(text)
    lines, previous = [], "0" * 64
    for line in ledger.read_text().splitlines():
        entry = json.loads(line.replace(old, new))
        if entry["type"] == "protocol-signed":
            continue
        if entry["type"] == "work-finished":
            entry["body"]["result"]["verdict"] = record["verdict"]
        entry["seq"], entry["prev"] = len(lines), previous
        lines.append(json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
        previous = hashlib.sha256(lines[-1].encode()).hexdigest()
    ledger.write_text("\n".join(lines) + "\n")
    for left in (store / "ledger").glob("*.head"):
        left.unlink()
    for left in store.glob("requal.db*"):
        left.unlink()
    path = site.folder / "forged.tar"
    subprocess.run([ARGS.program, "store", "rebuild", "--store", str(store)], capture_output=True, env=site.environment())
    result = subprocess.run([ARGS.program, "evidence", "export", "small", "-o", str(path), "--key", str(site.folder / "doe.pem"), *DOE,
                             "--meaning", "approver", "--store", str(store)], capture_output=True, text=True, env=site.environment())
    assert result.returncode == 0, result.stderr
    return path


@test
def bad_keys_and_files_are_bad_input(folder):
    site = Site(folder)
    site.sign_protocol()
    site.qualify(0)
    path, _ = site.export()
    rsa, rsa_public = site.key("rsa", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
    p384, _ = site.key("p384", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384")
    for key in (rsa, p384):
        result = site.requal("evidence", "export", "small", "--key", key, "-o", folder / "x.tar", status=2)
        assert "Ed25519 or ECDSA P-256" in result.stderr, result.stderr
    assert not (folder / "x.tar").exists()
    result = site.requal("evidence", "verify", path, "--public-key", rsa_public, status=2)
    assert "a key of RSA" in result.stderr
    result = site.requal("evidence", "verify", path, "--public-key", folder / "doe.pem", status=2)
    assert "a private key where a public key" in result.stderr
    result = site.requal("evidence", "verify", folder / "none.tar", status=2)
    assert "no such file" in result.stderr
    result = site.requal("evidence", "export", "smal", "-o", folder / "x.tar", status=2)
    assert "protocols with runs: small" in result.stderr
    result = site.requal("evidence", "sign", path, "--key", folder / "doe.pem", "--name", "J. Doe", "-o", folder / "x.tar", status=2)
    assert "role" in result.stderr
    site.key("other")
    verified = site.verify(path, key="other", status=1)
    assert any("no signature on it" in failure["what"] for failure in verified["failures"])
    # encrypted keys
    subprocess.run(["openssl", "pkey", "-in", str(folder / "doe.pem"), "-aes256", "-passout", "pass:swordfish", "-out",
                    str(folder / "locked.pem")], check=True, capture_output=True)
    (folder / "pass").write_text("swordfish\n")
    site.requal("evidence", "sign", path, "--key", folder / "locked.pem", "--passphrase-file", folder / "pass", *DOE, "--meaning",
                "reviewer", "-o", folder / "x.tar")
    (folder / "pass").write_text("herring\n")
    site.requal("evidence", "sign", path, "--key", folder / "locked.pem", "--passphrase-file", folder / "pass", *DOE, "--meaning",
                "reviewer", "-o", folder / "y.tar", status=2)
    # a full disk, or a folder in the place of the file, leaves nothing
    (folder / "there").mkdir()
    site.requal("evidence", "export", "small", "-o", folder / "there", status=4)


def main():
    global ARGS
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--runners", required=True)
    parser.add_argument("--metrics-python")
    parser.add_argument("--dsse-python")
    parser.add_argument("-k", default="")
    ARGS = qualify_test.ARGS = parser.parse_args()
    failed = 0
    for function in TESTS:
        if ARGS.k not in function.__name__:
            continue
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="requal-evidence-") as folder:
            try:
                function(pathlib.Path(folder))
                print(f"ok      {function.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED  {function.__name__}", flush=True)
                traceback.print_exc()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
