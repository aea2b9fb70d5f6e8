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


def numbers_of_judge(judge):
    """[overall, one list a category] of the twelve numbers of a COCOeval that was summarised."""
    rows = [judge.stats.tolist()]
    precision, recall = judge.eval["precision"], judge.eval["recall"]

    def mean(values):
        values = values[values > -1]
        return float(values.mean()) if values.size else -1.0

    for k in range(precision.shape[2]):
        def ap(area=0, threshold=None, k=k):
            chosen = precision[:, :, k, area, 2] if threshold is None else precision[threshold, :, k, area, 2]
            return mean(chosen)
        rows.append([ap(), ap(threshold=0), ap(threshold=5), ap(1), ap(2), ap(3),
                     *(mean(recall[:, k, 0, m]) for m in range(3)), *(mean(recall[:, k, a, 2]) for a in (1, 2, 3))])
    return rows


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
    return numbers_of_judge(judge)


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


def check_slices(program, folder):
    """Ranges of an object's attribute: pycocotools with the others' areas moved out of every range. Tags of pictures: the subset."""
    truth, results = random_case(41, images=40)
    for number, image in enumerate(truth["images"]):
        image["tags"] = ["night"] if number % 3 == 0 else ["day"]
    (folder / "gt.json").write_text(json.dumps(truth))
    (folder / "dt.json").write_text(json.dumps(results))
    done = subprocess.run([program, "evaluate", "--task", "detection", "--annotations", folder / "gt.json", "--predictions",
                           folder / "dt.json", "--slice", "distance_m=0,20,50", "--slice", "class*distance_m=0,20,50",
                           "--slice", "tags", "--slice", "tag=night*size", "--bootstrap", "0", "--json"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    slices = {(s["by"], s["value"]): s for s in json.loads(done.stdout)["slices"]}
    plain = {key: KEYS.index(key) for key in ("ap50_95", "ap50", "ap75", "ar1", "ar10", "ar100")}
    compared = 0

    def check(slice_, want):
        nonlocal compared
        for key, column in plain.items():
            have = slice_["metrics"][key]["value"]
            assert (have is None and want[column] == -1) or abs(have - want[column]) <= 1e-9, (slice_["by"], slice_["value"], key)
            compared += 1

    for low, high, last in ((0, 20, False), (20, 50, True)):
        band = json.loads(json.dumps(truth))
        for a in band["annotations"]:
            if not (low <= a["distance_m"] < high or (last and a["distance_m"] == high)):
                a["area"] = 2e10
        rows = pycocotools_numbers(band, results)
        check(slices["distance_m", f"{low}..{high}"], rows[0])
        for category, row in zip(sorted(truth["categories"], key=lambda c: c["id"]), rows[1:]):
            check(slices["class*distance_m", f"{category['name']}*{low}..{high}"], row)
    night = {image["id"] for image in truth["images"] if image["tags"] == ["night"]}
    part = {"images": [i for i in truth["images"] if i["id"] in night], "categories": truth["categories"],
            "annotations": [a for a in truth["annotations"] if a["image_id"] in night]}
    row = pycocotools_numbers(part, [r for r in results if r["image_id"] in night])[0]
    check(slices["tag", "night"], row)
    for size, column in (("small", 3), ("medium", 4), ("large", 5)):
        have = slices["tag*size", f"night*{size}"]["metrics"]["ap50_95"]["value"]
        assert abs(have - row[column]) <= 1e-9, size
    counted = sum(slices["distance_m", b]["n"] for b in ("0..20", "20..50"))
    assert counted == sum(a["distance_m"] <= 50 and not a["iscrowd"] for a in truth["annotations"])
    return compared


def check_pairs(program, folder):
    """Equal sides differ in nothing, with certainty; intervals hold the number; a seed gives the same bytes, threads do not matter."""
    truth, results = random_case(42, images=40)
    worse = [r for i, r in enumerate(results) if i % 5]
    (folder / "gt.json").write_text(json.dumps(truth))
    (folder / "dt.json").write_text(json.dumps(results))
    (folder / "worse.json").write_text(json.dumps(worse))

    def run(candidate, *more):
        done = subprocess.run([program, "evaluate", "--task", "detection", "--annotations", folder / "gt.json", "--predictions",
                               folder / candidate, "--reference-predictions", folder / "dt.json", "--slice", "class",
                               "--bootstrap", "200", "--json", *more], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    same = json.loads(run("dt.json"))
    for row in (same["overall"], *same["slices"]):
        for name, metric in row["metrics"].items():
            if metric["drop"] is not None and metric["ci_low"] is not None:
                assert metric["drop"] == metric["ci_low"] == metric["ci_high"] == 0, name
    assert (same["flips"]["gained"], same["flips"]["lost"], same["flips"]["gross"]) == (0, 0, 0)
    text = run("worse.json")
    assert text == run("worse.json", "--jobs", "1"), "threads change the result"
    assert text != run("worse.json", "--seed", "1")
    document = json.loads(text)
    ap = document["overall"]["metrics"]["ap50"]
    assert ap["drop"] > 0 and ap["ci_low"] < ap["drop"] < ap["ci_high"], ap
    assert abs(ap["retention"] - ap["candidate"] / ap["reference"]) < 1e-12
    flips = document["flips"]
    dropped = sum(r["score"] >= 0.5 for i, r in enumerate(results) if i % 5 == 0)
    assert flips["disappeared"] + flips["class_changed"] >= 1 and flips["gross"] <= 2 * dropped, flips
    assert flips["net"] == flips["gained"] - flips["lost"] and flips["lost"] > 0
    assert sum(s["flips"]["lost"] for s in document["slices"]) == flips["lost"]


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
        compared += check_slices(program, pathlib.Path(temp))
        check_pairs(program, pathlib.Path(temp))
    print(f"{len(cases)} cases, {compared} numbers, the largest difference to pycocotools {worst:.2g}")
    assert compared > 1000 and np.isfinite(worst)


if __name__ == "__main__":
    main()
