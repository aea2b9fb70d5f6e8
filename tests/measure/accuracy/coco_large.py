"""`requal evaluate --task detection` against pycocotools, to 1e-9, on random data of the size of COCO's validation part.

coco_large.py REQUAL [IMAGES]

5,000 images, 80 categories with gaps in their ids, 7 objects an image of COCO's mixture of sizes, some crowds, 100 detections an image:
overall and per class 972 numbers. pycocotools takes minutes, so that this runs with CI_FULL=1 only.
"""
import contextlib
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from coco_metrics import KEYS, numbers_of_judge


def make(folder, images, categories=80, objects=7, detections=100, seed=11):
    rng = np.random.default_rng(seed)
    category_ids = np.sort(rng.choice(np.arange(1, categories * 2), categories, replace=False)).tolist()
    image_ids = np.sort(rng.choice(np.arange(1, images * 100), images, replace=False)).tolist()
    truth = {"images": [{"id": i, "width": 640, "height": 480, "file_name": f"{i:012}.jpg"} for i in image_ids],
             "categories": [{"id": c, "name": f"class {c}"} for c in category_ids], "annotations": []}
    results = []
    for image in image_ids:
        count = rng.poisson(objects)
        side = np.exp(rng.uniform(np.log(6), np.log(400), (count, 2)))
        place = rng.uniform(0, [600, 440], (count, 2))
        kind = rng.zipf(1.5, count) % categories
        for j in range(count):
            box = [round(float(v), 2) for v in (*place[j], *side[j])]
            # areas of masks: smaller than the boxes
            truth["annotations"].append({"id": len(truth["annotations"]) + 1, "image_id": image, "category_id": category_ids[kind[j]],
                                         "bbox": box, "area": round(box[2] * box[3] * float(rng.uniform(0.3, 1)), 3),
                                         "iscrowd": int(rng.random() < 0.01)})
        if rng.random() < 0.02:
            continue  # nothing found in this one
        for _ in range(detections):
            if count > 0 and rng.random() < 0.4:
                j = int(rng.integers(count))
                shift = rng.normal(0, 0.1, 4)
                box = [place[j][0] + shift[0] * side[j][0], place[j][1] + shift[1] * side[j][1],
                       side[j][0] * abs(1 + shift[2]), side[j][1] * abs(1 + shift[3])]
                category = int(kind[j]) if rng.random() < 0.8 else int(rng.integers(categories))
            else:
                box = [*rng.uniform(0, 500, 2), *np.exp(rng.uniform(np.log(6), np.log(300), 2))]
                category = int(rng.integers(categories))
            # three digits: many equal scores
            results.append({"image_id": image, "category_id": category_ids[category], "bbox": [round(float(v), 2) for v in box],
                            "score": round(float(rng.random()), 3)})
    order = rng.permutation(len(results))
    (folder / "gt.json").write_text(json.dumps(truth))
    (folder / "dt.json").write_text(json.dumps([results[i] for i in order]))
    return len(truth["annotations"]), len(results)


def main():
    program = sys.argv[1]
    images = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    if len(sys.argv) <= 2 and os.environ.get("CI_FULL", "0") in ("", "0"):
        print("5,000 images through pycocotools take minutes: CI_FULL=1 runs them")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as temp:
        folder = pathlib.Path(temp)
        objects, detections = make(folder, images)
        done = subprocess.run([program, "evaluate", "--task", "detection", "--annotations", folder / "gt.json", "--predictions",
                               folder / "dt.json", "--slice", "class", "--bootstrap", "0", "--json"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        with contextlib.redirect_stdout(io.StringIO()):
            truth = COCO(str(folder / "gt.json"))
            judge = COCOeval(truth, truth.loadRes(str(folder / "dt.json")), "bbox")
            judge.evaluate()
            judge.accumulate()
            judge.summarize()
        expected = numbers_of_judge(judge)
    rows = [document["overall"], *document["slices"]]
    assert len(rows) == len(expected) == 81
    worst, compared = 0.0, 0
    for number, (row, want) in enumerate(zip(rows, expected)):
        for key, b in zip(KEYS, want):
            a = row["metrics"][key]["value"]
            assert (a is None) == (b == -1), (number, key, a, b)
            if a is not None:
                assert math.isfinite(a) and abs(a - b) <= 1e-9, (number, key, a, b)
                worst = max(worst, abs(a - b))
            compared += 1
    print(f"{images} images, {objects} objects, {detections} detections: {compared} numbers, "
          f"the largest difference to pycocotools {worst:.2g}")


if __name__ == "__main__":
    main()
