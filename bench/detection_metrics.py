#!/usr/bin/env python3
"""Detection metrics: `requal evaluate` against hotcoco (and pycocotools for the numbers), whole processes from files.

    bench/detection_metrics.py --requal build/release/bin/requal [--python PYTHON] [--images 5000] [--pycocotools] [--rounds 3]

PYTHON has the packages of scripts/requirements/metrics.txt (default: this one). Two rows are printed: 5,000 images x 80 classes
x 100 detections, sides in turn, best of the rounds; and 10^6 detections read from COCO results.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HOTCOCO = """
import sys
from hotcoco import COCO, COCOeval
truth = COCO(sys.argv[1])
judge = COCOeval(truth, truth.load_res(sys.argv[2]) if hasattr(truth, "load_res") else truth.loadRes(sys.argv[2]), "bbox")
judge.evaluate(); judge.accumulate(); judge.summarize()
print("STATS", list(judge.stats))
"""
PYCOCOTOOLS = HOTCOCO.replace("from hotcoco import COCO, COCOeval",
                              "from pycocotools.coco import COCO\nfrom pycocotools.cocoeval import COCOeval")
KEYS = ["ap50_95", "ap50", "ap75", "ap_small", "ap_medium", "ap_large",
        "ar1", "ar10", "ar100", "ar_small", "ar_medium", "ar_large"]


def make(folder, images, classes, detections, objects):
    import numpy as np
    rng = np.random.default_rng(7)
    truth = {"images": [{"id": i + 1, "width": 640, "height": 480, "file_name": f"{i:012}.jpg"} for i in range(images)],
             "categories": [{"id": c + 1, "name": f"class {c + 1}"} for c in range(classes)], "annotations": []}
    results = []
    for image in range(1, images + 1):
        side = np.exp(rng.uniform(np.log(8), np.log(300), (objects, 2)))
        place = rng.uniform(0, 400, (objects, 2))
        of_class = rng.integers(1, classes + 1, objects)
        for j in range(objects):
            box = [round(float(v), 2) for v in (*place[j], *side[j])]
            truth["annotations"].append({"id": len(truth["annotations"]) + 1, "image_id": image, "iscrowd": int(rng.random() < 0.01),
                                         "category_id": int(of_class[j]), "bbox": box, "area": round(box[2] * box[3], 3)})
        parent = rng.integers(0, objects, detections)
        noise = rng.normal(0, 0.15, (detections, 4))
        near = rng.random(detections) < 0.5
        random_box = rng.uniform(1, 300, (detections, 4))
        random_class = rng.integers(1, classes + 1, detections)
        scores = rng.random(detections)
        for d in range(detections):
            j = parent[d]
            if near[d]:
                w, h = side[j]
                box = [place[j][0] + noise[d][0] * w, place[j][1] + noise[d][1] * h,
                       w * abs(1 + noise[d][2]), h * abs(1 + noise[d][3])]
                category = int(of_class[j])
            else:
                box, category = random_box[d], int(random_class[d])
            results.append({"image_id": image, "category_id": category, "bbox": [round(float(v), 2) for v in box],
                            "score": round(float(scores[d]), 5)})
    (folder / "gt.json").write_text(json.dumps(truth))
    (folder / "dt.json").write_text(json.dumps(results))


def in_child(work, *arguments):
    """Runs `work` in a child: the peak memory of a process that is started counts what its parent had at that moment."""
    child = os.fork()
    if child == 0:
        work(*arguments)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit("the data could not be made")


def repeat_results(path, repeat, target):
    records = json.loads(pathlib.Path(path).read_text())
    with open(target, "w", encoding="utf-8") as file:
        json.dump(records * repeat, file)


def measure(command):
    """Wall seconds, peak resident MB, standard output, processor seconds (less moved by other work on the machine)."""
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        output = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with {process.returncode}")
    return time.monotonic() - started, usage.ru_maxrss / 1024, output, usage.ru_utime + usage.ru_stime


def stats_of(output):
    line = next(line for line in output.splitlines() if line.startswith("STATS "))
    return [float(part.split("(")[-1].strip(" )")) for part in line[6:].strip("[] ").split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requal", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--classes", type=int, default=80)
    parser.add_argument("--detections", type=int, default=100)
    parser.add_argument("--objects", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pycocotools", action="store_true", help="also compare with pycocotools (minutes)")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as temp:
        folder = pathlib.Path(temp)
        in_child(make, folder, arguments.images, arguments.classes, arguments.detections, arguments.objects)
        files = [str(folder / "gt.json"), str(folder / "dt.json")]
        ours = [arguments.requal, "evaluate", "--task", "detection", "--annotations", files[0], "--predictions", files[1],
                "--bootstrap", "0", "--json"]
        best = {}
        for _ in range(arguments.rounds):
            for name, command in (("hotcoco", [arguments.python, "-c", HOTCOCO, *files]), ("requal", ours)):
                wall, peak, output, cpu = measure(command)
                old = best.get(name, (wall, peak, output, cpu))
                best[name] = (min(wall, old[0]), min(peak, old[1]), output, min(cpu, old[3]))
        metrics = json.loads(best["requal"][2])["overall"]["metrics"]
        numbers = [metrics[key]["value"] for key in KEYS]
        peers = {"hotcoco": stats_of(best["hotcoco"][2])}
        if arguments.pycocotools:
            best["pycocotools"] = measure([arguments.python, "-c", PYCOCOTOOLS, *files])
            peers["pycocotools"] = stats_of(best["pycocotools"][2])
        print(f"{arguments.images} images x {arguments.classes} classes x {arguments.detections} detections, "
              f"best of {arguments.rounds}:")
        for name, (wall, peak, _, cpu) in best.items():
            print(f"  {name:12} {wall:8.2f} s wall {cpu:8.2f} s processor {peak:8.0f} MB")
        for name, values in peers.items():
            difference = max(abs(a - b) for a, b in zip(numbers, values))
            print(f"  requal / {name}: time {best['requal'][0] / best[name][0]:.2f}, processor "
                  f"{best['requal'][3] / best[name][3]:.2f}, memory "
                  f"{best['requal'][1] / best[name][1]:.2f}, largest difference of the 12 numbers {difference:.2g}")
        repeat = max(1, round(1e6 / (arguments.images * arguments.detections)))
        in_child(repeat_results, files[1], repeat, folder / "million.json")
        empty = folder / "empty.json"
        empty.write_text("[]")
        base = min(measure([*ours[:7], str(empty), *ours[8:]])[0] for _ in range(arguments.rounds))
        million = [measure([*ours[:7], str(folder / "million.json"), *ours[8:]]) for _ in range(arguments.rounds)]
        whole, cpu = min(m[0] for m in million), min(m[3] for m in million)
        count = arguments.images * arguments.detections * repeat
        size = (folder / "million.json").stat().st_size / 1e6
        print(f"{count} detections ({size:.0f} MB) from COCO results JSON, read and judged: {whole:.2f} s, {cpu:.2f} s processor "
              f"(annotations and start {base:.2f} s; the row asks for reading below 2 s)")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
