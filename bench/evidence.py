#!/usr/bin/env python3
"""Export and verification of a 2 GiB evidence package beside the rate at which this machine hashes and writes the same bytes.

    bench/evidence.py --program build/release/bin/requal [--gib 2] [--rounds 3] [--folder DIR]

Peer of export: the slower of `openssl dgst -sha256` and `dd conv=fsync` on the same file (copying is both); of verify: the slower of
`openssl dgst -sha256` and `dd of=/dev/null`. Measured in turns; the best round of each counts. Limits: 0.7 x the peer's rate, less than
100 MiB of memory, and less than 100 ms for a package whose large file is in it by digest only. Ends with status 1 when one is not kept.

The package is that of a store with one abandoned run whose step left one file of that size: what is measured is moving and hashing bytes.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time


def timed(command, **kwargs):
    """(seconds, peak memory in MiB) of one command."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kwargs)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    return seconds, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


def make_store(program, folder, large, name):
    """A store whose ledger says that a run of protocol `small` was begun, left `large`, and was abandoned."""
    store = folder / "store"
    digest = subprocess.run([program, "store", "put", str(large), "--store", str(store), "--json"], check=True, capture_output=True)
    blob = json.loads(digest.stdout)["items"][0]["digest"] if "items" in json.loads(digest.stdout) else "sha256:" + hashlib.file_digest(
        large.open("rb"), "sha256").hexdigest()
    (ledger,) = (store / "ledger").glob("*.jsonl")
    lines = ledger.read_bytes().splitlines()
    stamp = json.loads(lines[-1])["time"]

    def append(kind, body):
        lines.append(json.dumps({"body": body, "prev": hashlib.sha256(lines[-1]).hexdigest(), "seq": len(lines), "time": stamp,
                                 "type": kind}, sort_keys=True, separators=(",", ":")).encode())

    work = "20270115T080000Z-00000001"
    append("work-started", {"work": work, "kind": "qualify", "key": "small", "identity": "x", "facts": {"protocol": blob}})
    append("step-started", {"work": work, "step": "build", "inputs": blob})
    append("step-finished", {"work": work, "step": "build", "inputs": blob,
                             "outputs": {"facts": {}, "blobs": {name: blob}}})
    append("work-finished", {"work": work, "kind": "qualify", "state": "abandoned", "why": "a benchmark"})
    ledger.write_bytes(b"\n".join(lines) + b"\n")
    return store


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    kept = True
    with tempfile.TemporaryDirectory(prefix="requal-bench-", dir=arguments.folder) as name:
        folder = pathlib.Path(name)
        large = folder / "large.bin"
        size = int(arguments.gib * 2**30)
        with large.open("wb") as file:
            block = os.urandom(1 << 20)
            for i in range(size >> 20):
                file.write(i.to_bytes(8, "little") + block[8:])
        store = make_store(program, folder, large, "large.bin")
        package, copy = folder / "p.tar", folder / "copy.bin"
        best = {}

        def take(what, command):
            seconds, memory, status = timed(command)
            assert status in (0, 6), (command, status)
            old = best.get(what, (1e9, 0))
            best[what] = (min(old[0], seconds), max(old[1], memory))

        for _ in range(arguments.rounds):
            take("hash", ["openssl", "dgst", "-sha256", str(large)])
            take("write", ["dd", f"if={large}", f"of={copy}", "bs=1M", "conv=fsync"])
            copy.unlink()
            take("export", [program, "evidence", "export", "small", "-o", str(package), "--store", str(store), "--no-progress"])
            take("read", ["dd", f"if={package}", "of=/dev/null", "bs=1M"])
            take("verify", [program, "evidence", "verify", str(package), "--allow-unsigned-protocol", "--no-progress"])
        package.unlink()
        small_store = make_store(program, folder / "small", large_by_name(folder), "small.engine")
        for _ in range(arguments.rounds + 2):
            take("export small", [program, "evidence", "export", "small", "-o", str(package), "--store", str(small_store), "--no-progress"])
            take("verify small", [program, "evidence", "verify", str(package), "--allow-unsigned-protocol", "--no-progress"])
        mib = size / 2**20
        for what, peers in (("export", ("hash", "write")), ("verify", ("hash", "read"))):
            peer = max(best[one][0] for one in peers)
            ratio = peer / best[what][0]
            good = ratio >= 0.7 and best[what][1] < 100
            kept = kept and good
            print(f"{what:8} peer {mib / peer:7.0f} MiB/s   requal {mib / best[what][0]:7.0f} MiB/s   ratio {ratio:.2f} (>= 0.70)   "
                  f"memory {best[what][1]:.0f} MiB (< 100)   {'kept' if good else 'NOT KEPT'}")
        good = best["verify small"][0] < 0.1
        kept = kept and good
        print(f"verify without blobs: {best['verify small'][0] * 1000:.0f} ms (< 100)   {'kept' if good else 'NOT KEPT'}")
    return 0 if kept else 1


def large_by_name(folder):
    """A file that stands for an engine, which a package holds by digest only."""
    (folder / "small").mkdir(exist_ok=True)
    path = folder / "small" / "engine.bin"
    path.write_bytes(os.urandom(4 << 20))
    return path


if __name__ == "__main__":
    sys.exit(main())
