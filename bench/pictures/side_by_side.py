#!/usr/bin/env python3
"""Decoding and inference side by side: pictures of the example through `requal infer`, against the sum of its two halves in the same run.

    side_by_side.py build/release/bin/requal

Pictures are prepared by a thread of its own while the runtime works, so the wall time must be below the sum of what preparing (processor time, so
that waiting for a busy machine does not count) and running (wall time) took. To give preparing some weight, the pictures are made four times as wide and high. Wanted: wall / (prepare + run) < 1.
"""
import json
import os
import subprocess
import sys
import tempfile

from PIL import Image

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
EXAMPLE = os.path.join(ROOT, "examples/parts-inspection")


def main():
    program, count = sys.argv[1], int(os.environ.get("COUNT", "120"))
    with tempfile.TemporaryDirectory(prefix="requal-side-by-side-") as folder:
        for name in sorted(os.listdir(f"{EXAMPLE}/data/test"))[:count]:
            picture = Image.open(f"{EXAMPLE}/data/test/{name}")
            picture.resize((4 * picture.width, 4 * picture.height)).save(f"{folder}/{name}", quality=85)
        ratios = []
        for _ in range(3):
            command = [program, "infer", f"{EXAMPLE}/parts.onnx@onnxruntime:cpu?threads=1", "--inputs", folder, "--preprocess",
                       f"{EXAMPLE}/preprocess.yaml", "--json", "--no-progress", "--jobs", "1"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(done.stderr)
            spent = json.loads(done.stdout)["pictures"]
            ratios.append(spent["wall_ms"] / (spent["prepare_ms"] + spent["run_ms"]))
            print(f"{count} pictures: prepare {spent['prepare_ms']:.0f} ms, run {spent['run_ms']:.0f} ms, "
                  f"wall {spent['wall_ms']:.0f} ms, ratio {ratios[-1]:.2f}", flush=True)
    best = sorted(ratios)[1]
    print(f"ratio {best:.2f} (wanted: below 1.00)")
    sys.exit(0 if best < 1 else 1)


if __name__ == "__main__":
    main()
