#!/usr/bin/env python3
"""`requal inspect --no-digest` of files of 1 GiB, against a program that only reads their head.

    bench/inspect_plan.py --requal build/release/bin/requal [--rounds 30]

One row for each kind; the peer is `head -c 28`. Ends with status 1 when a median passes 30 ms.
"""
import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

SIZE = 1 << 30
LIMIT_MS = 30.0


def sparse(path, head, tail=b""):
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(SIZE - len(tail))
        file.seek(0, os.SEEK_END)
        file.write(tail)


def zip_with_hole(path):
    """A checkpoint of one storage of almost 1 GiB: the list of members stands at the end."""
    names = [(b"m/data.pkl", 10), (b"m/data/0", SIZE - 4096)]
    directory, at = b"", 0
    with open(path, "wb") as file:
        for name, size in names:
            fields = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0, 0, size, size, len(name), 0)
            file.seek(at)
            file.write(b"PK\3\4" + fields + name)
            directory += b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, at) + name
            at += 30 + len(name) + size
        file.seek(at)
        file.write(directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(names), len(names), len(directory), at, 0))


def files(folder):
    metadata = json.dumps({"stride": 32, "names": {"0": "part"}}).encode()
    plan = b"ftrt" + bytes(20) + bytes([10, 3, 0, 26])
    sparse(folder / "tensorrt-plan", plan)
    sparse(folder / "tensorrt-rtx-plan", b"vtrt" + bytes(12) + struct.pack("<Q", SIZE) + bytes([1, 7, 1, 116]))
    sparse(folder / "tensorrt-plan-wrapped", struct.pack("<i", len(metadata)) + metadata + plan)
    header = json.dumps({"w": {"dtype": "U8", "shape": [SIZE], "data_offsets": [0, SIZE]}}).encode()
    sparse(folder / "safetensors", struct.pack("<Q", len(header)) + header)
    zip_with_hole(folder / "torch-checkpoint")
    return sorted(folder.iterdir())


def milliseconds(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return (time.perf_counter() - start) * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requal", default="build/release/bin/requal")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    slow = 0
    with tempfile.TemporaryDirectory() as name:
        for path in files(pathlib.Path(name)):
            ours = [options.requal, "inspect", str(path), "--no-digest", "--no-ask"]
            kind = json.loads(subprocess.run(ours + ["--json"], check=True, stdout=subprocess.PIPE).stdout)["kind"]
            if not path.name.startswith(kind):
                sys.exit(f"{path.name} was taken for {kind}")
            times = {"requal": [], "head": []}
            for _ in range(options.rounds):  # in turn, so that a busy machine is busy for both
                times["requal"].append(milliseconds(ours))
                times["head"].append(milliseconds(["head", "-c", "28", str(path)]))
            median = {key: statistics.median(values) for key, values in times.items()}
            print(f"{path.name:22} requal {median['requal']:6.2f} ms (least {min(times['requal']):.2f})   head {median['head']:5.2f} ms   "
                  f"ratio {median['requal'] / median['head']:.2f}")
            slow += median["requal"] > LIMIT_MS
    print(f"limit {LIMIT_MS:.0f} ms: {'passed by ' + str(slow) + ' kinds' if slow else 'kept'}")
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    main()
