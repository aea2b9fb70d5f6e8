#!/usr/bin/env python3
"""Speed of the store beside the tools it is measured against, in one run on the same disk.

    bench/store_put.py --requal build/release/bin/requal [--folder DIR] [--mib 2048] [--files 100000]

Prints for one large file: requal store put, openssl dgst -sha256, dd conv=fsync, and the ratio (at least 0.8 of the slower one), with the peak
memory (below 50 MB); for many small files: putting (below 60 s) and listing them (below 200 ms).
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time


def timed(command, **kwargs):
    os.sync()
    begin = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kwargs)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command[0]} failed: {status}")
    return time.monotonic() - begin, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requal", required=True)
    parser.add_argument("--folder")
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="requal-bench-") as folder:
        folder = pathlib.Path(folder)
        large = folder / "large"
        block = os.urandom(1 << 20)
        with large.open("wb") as stream:
            for index in range(arguments.mib):
                stream.write(index.to_bytes(8, "little") + block[8:])
        best = {}
        memory = 0
        for _ in range(arguments.rounds):
            # interleaved, so that another load on the machine meets all three
            for name in ("openssl", "dd", "requal"):
                if name == "openssl":
                    seconds, _ = timed(["openssl", "dgst", "-sha256", large])
                elif name == "dd":
                    seconds, _ = timed(["dd", f"if={large}", f"of={folder / 'copy'}", "bs=1M", "conv=fsync"])
                    (folder / "copy").unlink()
                else:
                    seconds, peak = timed([arguments.requal, "store", "put", large, "--store", folder / "store"])
                    memory = max(memory, peak)
                    shutil.rmtree(folder / "store")
                best[name] = min(best.get(name, 1e9), seconds)
        ratio = max(best["openssl"], best["dd"]) / best["requal"]
        rate = {name: arguments.mib / seconds for name, seconds in best.items()}
        print(f"{arguments.mib} MiB: openssl {rate['openssl']:.0f} MiB/s, dd conv=fsync {rate['dd']:.0f} MiB/s, requal {rate['requal']:.0f} MiB/s; "
              f"ratio to the slower {ratio:.2f} (at least 0.8); peak memory {memory:.0f} MB (below 50)")
        missed += ratio < 0.8
        missed += memory >= 50
        large.unlink()

        many = folder / "many"
        for index in range(arguments.files):
            if index % 1000 == 0:
                (many / str(index // 1000)).mkdir(parents=True)
            (many / str(index // 1000) / str(index)).write_bytes(index.to_bytes(8, "little") * 25)
        put, peak = timed([arguments.requal, "store", "put", "--recursive", many, "--store", folder / "store", "--quiet"])
        before = os.times()
        listing = min(timed([arguments.requal, "store", "list", "--blobs", "--store", folder / "store"])[0] for _ in range(5))
        after = os.times()
        processor = (after.children_user + after.children_system - before.children_user - before.children_system) / 5
        references = min(timed([arguments.requal, "store", "list", "--store", folder / "store"])[0] for _ in range(5))
        print(f"{arguments.files} small files: put {put:.1f} s (below 60), peak memory {peak:.0f} MB; all blobs listed in {listing * 1000:.0f} ms (below 200; "
              f"{processor * 1000:.0f} ms of processor time), "
              f"references in {references * 1000:.0f} ms")
        missed += put >= 60
        missed += listing >= 0.2
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
