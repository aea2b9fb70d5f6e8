"""`requal evaluate --task detection` against pycocotools, to 1e-9, on random and on nasty cases.

coco_metrics.py REQUAL
"""
import contextlib
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from coco_cases import nasty_cases, random_case

KEYS = ["ap50_95", "ap50", "ap75", "ap_small", "ap_medium", "ap_large",
        "ar1", "ar10", "ar100", "ar_small", "ar_medium", "ar_large"]


def pycocotools_numbers(truth, results):
    """[overall, one list a category] of the twelve numbers."""
    with contextlib.redirect_stdout(io.StringIO()):
        truth_set = COCO()
        truth_set.dataset = json.loads(json.dumps(truth))
        truth_set.createIndex()
        found = truth_set.loadRes(json.loads(json.dumps(results)))
        judge = COCOeval(truth_set, found, "bbox")
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
        rows = [judge.stats.tolist()]
        precision, recall = judge.eval["precision"], judge.eval["recall"]

        def mean(values):
            values = values[values > -1]
            return float(values.mean()) if values.size else -1.0

        for k in range(precision.shape[2]):
            def ap(area=0, threshold=None):
                chosen = precision[:, :, k, area, 2] if threshold is None else precision[threshold, :, k, area, 2]
                return mean(chosen)
            rows.append([ap(), ap(threshold=0), ap(threshold=5), ap(1), ap(2), ap(3),
                         *(mean(recall[:, k, 0, m]) for m in range(3)), *(mean(recall[:, k, a, 2]) for a in (1, 2, 3))])
    return rows


def requal_numbers(program, folder, truth, results):
    (folder / "gt.json").write_text(json.dumps(truth))
    (folder / "dt.json").write_text(json.dumps(results))
    done = subprocess.run([program, "evaluate", "--task", "detection", "--annotations", folder / "gt.json",
                           "--predictions", folder / "dt.json", "--slice", "class", "--bootstrap", "0", "--json"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    rows = [document["overall"], *document["slices"]]
    return [[row["metrics"][key]["value"] for key in KEYS] for row in rows]


def main():
    program = sys.argv[1]
    cases = list(nasty_cases())
    for seed in range(12):
        cases.append((f"random {seed}", *random_case(seed, quantised=seed % 3 == 0)))
    cases.append(("random, crowded", *random_case(100, images=8, categories=2, objects=40, detections=160, crowd=0.3)))
    worst = 0.0
    compared = 0
    with tempfile.TemporaryDirectory() as temp:
        for name, truth, results in cases:
            expected = pycocotools_numbers(truth, results)
            got = requal_numbers(program, pathlib.Path(temp), truth, results)
            assert len(got) == len(expected), name
            for row, (have, want) in enumerate(zip(got, expected)):
                for key, a, b in zip(KEYS, have, want):
                    if b == -1:
                        assert a is None, f"{name}, row {row}, {key}: {a}, pycocotools has none"
                        continue
                    assert a is not None and math.isfinite(a), f"{name}, row {row}, {key}: none, pycocotools {b}"
                    worst = max(worst, abs(a - b))
                    compared += 1
                    assert abs(a - b) <= 1e-9, f"{name}, row {row}, {key}: {a!r}, pycocotools {b!r}"
    print(f"{len(cases)} cases, {compared} numbers, the largest difference to pycocotools {worst:.2g}")
    assert compared > 1000 and np.isfinite(worst)


if __name__ == "__main__":
    main()
