#!/usr/bin/env python3
"""Machine state: hashing libraries side by side, repeated snapshots, and fleets, each beside what it must be held to.

  bench/machine_state.py [--requal build/release/bin/requal] [--mib 3072] [--stations 500]

Prints the peer, Requal and the ratio; ends with status 1 when a limit is not kept:
  a snapshot of a root with --mib MiB of libraries on all cores   at least 1.6 x the rate with --jobs 1 (on 2 cores or more)
  the same again with --trust-mtime                               at most 0.1 x the first one's time
  fleet over --stations snapshots                                 below 1 s
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tests" / "machine"))
import make_root  # noqa: E402


def seconds(command, cwd, status=(0,)):
    begin = time.monotonic()
    result = subprocess.run(command, cwd=cwd, check=False, stdout=subprocess.DEVNULL)
    if result.returncode not in status:
        sys.exit(f"{command}: exit status {result.returncode}")
    return time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requal", type=pathlib.Path, default=SOURCE / "build/release/bin/requal")
    parser.add_argument("--mib", type=int, default=3072)
    parser.add_argument("--stations", type=int, default=500)
    arguments = parser.parse_args()
    requal = arguments.requal.resolve()
    missed = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_root.make(folder / "root", "r36")
        block = random.Random(1).randbytes(1 << 20)
        names = ["cublas", "cublasLt", "cufft", "curand", "cusolver", "cusparse", "nvrtc", "nvJitLink"]
        for index, stem in enumerate(names):
            with open(folder / f"root/usr/lib/aarch64-linux-gnu/lib{stem}.so.12.{index}", "wb") as file:
                for _ in range(arguments.mib // len(names)):
                    file.write(block)
        snapshot = [requal, "snapshot", "--sysroot", "root"]
        seconds([*snapshot, "-o", "first.json"], folder)  # the page cache is warm from here on
        one = min(seconds([*snapshot, "--jobs", "1", "-o", "first.json"], folder) for _ in range(2))
        all_cores = min(seconds([*snapshot, "-o", "first.json"], folder) for _ in range(2))
        again = min(seconds([*snapshot, "--trust-mtime", "first.json", "-o", "again.json"], folder) for _ in range(3))
        digest = [json.loads((folder / file).read_text())["state_digest"] for file in ("first.json", "again.json")]
        if digest[0] != digest[1]:
            sys.exit("the repeated snapshot has another state digest")
        print(f"hashing {arguments.mib} MiB: one thread {one:.3f} s, all cores {all_cores:.3f} s, ratio {one / all_cores:.2f} (at least 1.6)")
        if one / all_cores < 1.6 and (os.cpu_count() or 1) > 1:
            missed.append("hashing")
        print(f"repeated with --trust-mtime: first {all_cores:.3f} s, again {again:.3f} s, ratio {again / all_cores:.3f} (at most 0.1)")
        if again / all_cores > 0.1:
            missed.append("trust-mtime")

        stations = folder / "stations"
        stations.mkdir()
        changes = [[], [], [], ["hold-removed"], ["tensorrt"], ["camera-firmware"], ["kernel"], ["point-release"]]
        texts = []
        for index, change in enumerate(changes):
            make_root.make(folder / f"root-{index}", "r36", change)
            subprocess.run([requal, "snapshot", "--sysroot", f"root-{index}", "-o", f"one-{index}.json"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            texts.append((folder / f"one-{index}.json").read_bytes())
        for index in range(arguments.stations):
            (stations / f"station-{index}.json").write_bytes(texts[index % len(texts)])
        fleet = min(seconds([requal, "fleet", "stations"], folder, status=(1,)) for _ in range(3))
        size = sum(len(texts[index % len(texts)]) for index in range(arguments.stations))
        begin = time.monotonic()
        for file in stations.iterdir():
            json.loads(file.read_bytes())
        peer = time.monotonic() - begin
        print(f"fleet over {arguments.stations} snapshots ({size / 1e6:.1f} MB): Python reads them in {peer:.3f} s, requal fleet {fleet:.3f} s (below 1 s)")
        if fleet >= 1:
            missed.append("fleet")
    if missed:
        print("not kept:", ", ".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
