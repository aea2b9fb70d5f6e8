#!/usr/bin/env python3
"""Headline numbers of an evidence package without Requal: recompute_evidence.py P.tar KEY.pub.pem (numpy, pycocotools, openssl)."""
import base64, contextlib, hashlib, io, json, subprocess, sys, tarfile, tempfile
import numpy as np
from pycocotools import coco, cocoeval
with tarfile.open(sys.argv[1]) as tar:
    files = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}
for name, data in files.items():
    assert not name.startswith("blobs/") or name == "blobs/sha256/" + hashlib.sha256(data).hexdigest(), name
blob, labels_of = lambda digest: files["blobs/sha256/" + digest[7:]], lambda name: "labels-" + name[12:].rsplit("-", 1)[0] + ".json"
manifest = json.loads(blob(json.loads(files["index.json"])["manifests"][0]["digest"]))
contents, previous = json.loads(blob(manifest["config"]["digest"])), "0" * 64
for line in blob(contents["ledger"]["file"]).splitlines():
    assert json.loads(line)["prev"] == previous, "the ledger's chain is broken"
    previous = hashlib.sha256(line).hexdigest()
assert contents["ledger"]["digest"] == "sha256:" + previous
for layer in (x for x in manifest["layers"] if x["mediaType"] == "application/vnd.dsse.envelope.v1+json"):
    envelope = json.loads(blob(layer["digest"]))
    payload = base64.b64decode(envelope["payload"], validate=True)
    with tempfile.NamedTemporaryFile() as message, tempfile.NamedTemporaryFile() as signature:
        message.write(b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(payload), payload)), message.flush()
        signature.write(base64.b64decode(envelope["signatures"][0]["sig"])), signature.flush()
        ecdsa = ["-digest", "sha256"] if "MFkwEwYHKoZIzj0" in open(sys.argv[2]).read() else []  # P-256; else Ed25519
        openssl = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", sys.argv[2], "-rawin", *ecdsa, "-in", message.name]
        good = subprocess.run([*openssl, "-sigfile", signature.name], capture_output=True).returncode == 0
    covers = "contents" if manifest["config"]["digest"][7:] in str(json.loads(payload)["subject"]) else "something else"
    print("signature", covers, "good" if good else "not of this key", json.loads(payload)["predicateType"])
for run in contents["runs"]:
    print("run", run["run"], run["state"], run["verdict"])
    if "latency_ns.npy" in run["files"]:
        ms = np.sort(np.load(io.BytesIO(blob(run["files"]["latency_ns.npy"])))) * 1e-6
        print("  latency", *(f"p{q}_ms {ms[int(np.ceil(len(ms) * q / 100)) - 1]}" for q in (50, 99)), "samples", len(ms))
    for name in (n for n in run["files"] if n.startswith("predictions-") and labels_of(n) in run["files"]):
        with contextlib.redirect_stdout(None):
            truth = coco.COCO()
            truth.dataset = json.loads(blob(run["files"][labels_of(name)]))
            truth.createIndex()
            judged = cocoeval.COCOeval(truth, truth.loadRes(json.loads(blob(run["files"][name]))), "bbox")
            judged.evaluate(), judged.accumulate(), judged.summarize()
        print("  accuracy", name, "ap50_95", judged.stats[0], "ap50", judged.stats[1])
