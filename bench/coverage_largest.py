#!/usr/bin/env python3
"""`requal coverage` of the largest request that is taken: 4,096 targets (64 GPUs, 32 versions, 2 platforms) and 4 offers.

    bench/coverage_largest.py --requal build/release/bin/requal [--rounds 5]

Each row is one form of the output; the peer is the time that Python's json needs to read the document, which any program that works
on it must spend. One target more is refused, which has a row too.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

OFFER = """  - id: {id}
    supplier: them
    artefacts:
      - id: {id}-plan
        kind: tensorrt-plan
        identity: a plan
        built: {{version: 10.8.0.43, gpu: H100, platform: linux-x86_64, flags: [version-compatible]}}
"""


def request(gpus):
    names = ["H100", "B200", "A100", "L40S"] + [f"Foo {i}" for i in range(gpus - 4)]
    versions = [f"10.{minor}.0.{build}" for minor in range(8, 16) for build in (1, 2, 3, 43)]
    return ("schema: coverage-request/1\nname: largest\nproduct: tensorrt\ndimensions:\n  id: T\n  needs: now\n  values:\n"
            f"    gpu: [{', '.join(names)}]\n    version: [{', '.join(versions)}]\n"
            "    platform: [linux-x86_64, windows-x86_64]\n"
            "offers:\n" + "".join(OFFER.format(id=name) for name in "ABCD"))


def seconds(command):
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return time.perf_counter() - start, done


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--requal", required=True)
    arguments.add_argument("--rounds", type=int, default=5)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "request.yaml").write_text(request(64))
        (folder / "more.yaml").write_text(request(65))
        base = [options.requal, "coverage", str(folder / "request.yaml")]
        _, done = seconds(base + ["--json"])
        if done.returncode not in (0, 1, 6):
            sys.exit(done.stderr.decode())
        document = done.stdout
        peer = []
        for _ in range(options.rounds):
            start = time.perf_counter()
            pairs = len(json.loads(document)["targets"])
            peer.append(time.perf_counter() - start)
        peer = statistics.median(peer)
        rows = {"--json": base + ["--json"], "text": base, "--csv": base + ["--csv", str(folder / "out.csv")],
                "--html": base + ["--html", str(folder / "out.html")],
                "one GPU more (refused)": [options.requal, "coverage", str(folder / "more.yaml")]}
        print(f"{pairs} pairs, JSON of {len(document) / 1e6:.1f} MB; peer: json.loads {peer:.2f} s")
        for name, command in rows.items():
            times, done = zip(*(seconds(command) for _ in range(options.rounds)))
            median = statistics.median(times)
            print(f"{name:24} {median:6.2f} s  ratio {median / peer:6.2f}  exit {done[-1].returncode}")
        print(done[-1].stderr.decode().strip())


if __name__ == "__main__":
    main()
