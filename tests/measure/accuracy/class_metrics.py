"""`requal evaluate` of classification, segmentation and anomaly inspection against scikit-learn, scipy and numpy.

class_metrics.py REQUAL
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from scipy import ndimage, stats
from sklearn import metrics
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier


def evaluate(program, *arguments, status=0):
    done = subprocess.run([program, "evaluate", *map(str, arguments), "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == status, (done.returncode, done.stderr, done.stdout[:2000])
    return json.loads(done.stdout)


def near(have, want, what, tolerance=1e-9):
    assert have is not None and abs(have - want) <= tolerance, f"{what}: {have}, the oracle says {want}"


def value(document, metric, side="value"):
    return document["overall"]["metrics"][metric][side]


def slice_value(document, by, which, metric, side="value"):
    found = [s for s in document["slices"] if s["by"] == by and s["value"] == which]
    assert len(found) == 1, (by, which)
    return found[0]["metrics"][metric][side]


def calibration_error(probabilities, labels):
    confidence, predicted = probabilities.max(1), probabilities.argmax(1)
    edges = np.linspace(0, 1, 16)
    total = 0.0
    for low, high in zip(edges[:-1], edges[1:]):
        inside = (confidence > low) & (confidence <= high)
        if inside.any():
            total += inside.mean() * abs((predicted[inside] == labels[inside]).mean() - confidence[inside].mean())
    return total


def check_classification(document, labels, scores, side, slices=True):
    predicted = scores.argmax(1)
    near(value(document, "top1", side), metrics.accuracy_score(labels, predicted), "top1")
    near(value(document, "top3", side), metrics.top_k_accuracy_score(labels, scores, k=3, labels=range(scores.shape[1])), "top3")
    near(value(document, "balanced_accuracy", side), metrics.balanced_accuracy_score(labels, predicted), "balanced accuracy")
    near(value(document, "precision_macro", side), metrics.precision_score(labels, predicted, average="macro", zero_division=0), "precision")
    near(value(document, "recall_macro", side), metrics.recall_score(labels, predicted, average="macro", zero_division=0), "recall")
    near(value(document, "f1_macro", side), metrics.f1_score(labels, predicted, average="macro", zero_division=0), "f1")
    near(value(document, "ece", side), calibration_error(scores, labels), "calibration error", 1e-7)
    if slices:
        per_class = metrics.precision_recall_fscore_support(labels, predicted, labels=range(scores.shape[1]), zero_division=0)
        for c in range(scores.shape[1]):
            for metric, column in (("precision", 0), ("recall", 1), ("f1", 2)):
                near(slice_value(document, "class", str(c), metric, side), per_class[column][c], f"{metric} of class {c}")


def classification(program, folder):
    """scikit-learn's digits and a small network of its own: a real labelled set. The candidate's weights are rounded to few bits."""
    digits = load_digits()
    train, test, train_labels, test_labels = train_test_split(digits.data / 16, digits.target, test_size=0.5, random_state=1)
    network = MLPClassifier((24,), max_iter=60, random_state=1)
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(train, train_labels)
    reference = network.predict_proba(test)
    for layer in network.coefs_:
        step = np.abs(layer).max() / 3
        layer[:] = np.round(layer / step) * step
    candidate = network.predict_proba(test)
    assert (reference.argmax(1) != candidate.argmax(1)).sum() > 5, "the rounding changed too little to test anything"
    darkness = test.mean(1)
    np.savez(folder / "labels.npz", labels=test_labels, darkness=darkness,
             tags=np.where(np.arange(len(test)) % 3 == 0, "third;all", "all"))
    np.savez(folder / "ref.npz", scores=reference)
    np.savez(folder / "cand.npz", scores=candidate)
    common = ["--task", "classification", "--annotations", folder / "labels.npz", "--top-k", 3, "--slice", "class"]
    one = evaluate(program, *common, "--predictions", folder / "cand.npz", "--bootstrap", 0)
    check_classification(one, test_labels, candidate, "value")
    both = evaluate(program, *common, "--predictions", folder / "cand.npz", "--reference-predictions", folder / "ref.npz",
                    "--slice", "darkness=0,0.3,1", "--slice", "tags", "--slice", "class*tag=third", "--bootstrap", 200)
    check_classification(both, test_labels, reference, "reference")
    check_classification(both, test_labels, candidate, "candidate")
    assert both["confusion"]["candidate"] == metrics.confusion_matrix(test_labels, candidate.argmax(1)).tolist()

    before, after = reference.argmax(1) == test_labels, candidate.argmax(1) == test_labels
    flips = both["flips"]
    assert (flips["gained"], flips["lost"]) == (int((~before & after).sum()), int((before & ~after).sum()))
    assert flips["gross"] == int((reference.argmax(1) != candidate.argmax(1)).sum())
    few, many = sorted((flips["gained"], flips["lost"]))
    near(flips["mcnemar"]["p_value"], stats.binomtest(few, few + many, 0.5).pvalue, "McNemar")
    exact = stats.binomtest(flips["lost"], len(test_labels)).proportion_ci(0.95, "exact")
    near(flips["lost_share_ci_low"], exact.low, "Clopper-Pearson")
    near(flips["lost_share_ci_high"], exact.high, "Clopper-Pearson")

    dark = (darkness >= 0) & (darkness < 0.3)
    near(slice_value(both, "darkness", "0..0.3", "top1", "candidate"),
         metrics.accuracy_score(test_labels[dark], candidate.argmax(1)[dark]), "top1 in a range")
    third = np.arange(len(test)) % 3 == 0
    near(slice_value(both, "tag", "third", "f1_macro", "reference"),
         metrics.f1_score(test_labels[third], reference.argmax(1)[third], average="macro", zero_division=0), "f1 of a tag")
    near(slice_value(both, "class*tag", "7*third", "recall", "candidate"),
         (candidate.argmax(1)[third & (test_labels == 7)] == 7).mean(), "recall of a crossing")

    # the same from CSV, in another order of records, gives the same numbers
    with open(folder / "labels.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["sample", "label", "darkness"])
        for i, label in enumerate(test_labels):
            writer.writerow([f"digit {i}", label, darkness[i]])
    for name, scores in (("ref", reference), ("cand", candidate)):
        with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["sample", *map(str, range(10))])
            for i in np.random.default_rng(3).permutation(len(scores)):
                writer.writerow([f"digit {i}", *(repr(float(s)) for s in scores[i])])
    from_csv = evaluate(program, "--task", "classification", "--annotations", folder / "labels.csv", "--top-k", 3, "--slice", "class",
                        "--predictions", folder / "cand.csv", "--reference-predictions", folder / "ref.csv", "--bootstrap", 200)
    for metric in ("top1", "f1_macro"):
        assert from_csv["overall"]["metrics"][metric] == both["overall"]["metrics"][metric], metric
    # the interval of the drop is about what the normal approximation of a paired difference says
    difference = before.astype(float) - after
    half = 1.96 * difference.std() / np.sqrt(len(difference))
    top1 = both["overall"]["metrics"]["top1"]
    near(top1["ci_low"], difference.mean() - half, "bootstrap", 0.5 * half)
    near(top1["ci_high"], difference.mean() + half, "bootstrap", 0.5 * half)


def segmentation(program, folder):
    rng = np.random.default_rng(5)
    truth, guess, other = {}, {}, {}
    for i in range(6):
        labels = rng.integers(0, 4, (20 + i, 30))
        labels[rng.random(labels.shape) < 0.1] = 255
        truth[f"p{i}"] = labels.astype(np.uint8)
        for target, rate in ((guess, 0.3), (other, 0.1)):
            wrong = np.where(labels == 255, 0, labels)
            change = rng.random(labels.shape) < rate
            wrong[change] = rng.integers(0, 4, change.sum())
            target[f"p{i}"] = wrong.astype(np.int64)
    np.savez(folder / "truth.npz", **truth)
    np.savez(folder / "guess.npz", **guess)
    np.savez(folder / "other.npz", **other)
    document = evaluate(program, "--task", "segmentation", "--annotations", folder / "truth.npz", "--predictions", folder / "guess.npz",
                        "--reference-predictions", folder / "other.npz", "--slice", "class", "--bootstrap", 50)
    flat = np.concatenate([truth[n].ravel() for n in truth])
    for side, maps in (("candidate", guess), ("reference", other)):
        predicted = np.concatenate([maps[n].ravel() for n in truth])[flat != 255]
        labels = flat[flat != 255]
        near(value(document, "miou", side), metrics.jaccard_score(labels, predicted, average="macro"), "miou")
        near(value(document, "pixel_accuracy", side), metrics.accuracy_score(labels, predicted), "pixel accuracy")
        for c, iou in enumerate(metrics.jaccard_score(labels, predicted, average=None)):
            near(slice_value(document, "class", str(c), "iou", side), iou, f"iou of class {c}")


    # slices by attribute and tag, and flips of pixels
    names = list(truth)
    np.savez(folder / "tagged.npz", **truth, **{"attributes/distance_m": np.arange(6.0),
                                                "attributes/tags": np.array(["wet;dim", "dim", "", "wet", "", "dim"])})
    document = evaluate(program, "--task", "segmentation", "--annotations", folder / "tagged.npz", "--predictions", folder / "guess.npz",
                        "--reference-predictions", folder / "other.npz", "--slice", "distance_m=0,3,9", "--slice", "class*tag=wet",
                        "--slice", "tags", "--bootstrap", 50)
    near(value(document, "miou", "candidate"), metrics.jaccard_score(labels, np.concatenate([guess[n].ravel() for n in names])[flat != 255],
                                                                     average="macro"), "attributes are no pictures")

    def part(maps, which):
        chosen = np.concatenate([truth[n].ravel() for n in which])
        return chosen[chosen != 255], np.concatenate([maps[n].ravel() for n in which])[chosen != 255]

    for band, which in (("0..3", names[:3]), ("3..9", names[3:])):
        near(slice_value(document, "distance_m", band, "miou", "candidate"), metrics.jaccard_score(*part(guess, which), average="macro"), band)
    near(slice_value(document, "class*tag", "2*wet", "iou", "reference"),
         metrics.jaccard_score(*part(other, ["p0", "p3"]), average=None)[2], "iou of a crossing")
    labels, after = part(guess, names)
    _, before = part(other, names)
    flips = document["flips"]
    assert flips["unit"] == "pixels" and flips["decisions"] == len(labels)
    assert flips["lost"] == int(((before == labels) & (after != labels)).sum())
    assert flips["gained"] == int(((before != labels) & (after == labels)).sum())
    assert flips["gross"] == int((before != after).sum()) and flips["net"] == flips["gained"] - flips["lost"]
    assert flips["samples"][0]["lost"] == max(s["lost"] for s in flips["samples"])
    assert sum(s["lost"] for s in flips["samples"]) == flips["lost"]
    share = document["overall"]["metrics"]["lost_share"]
    near(share["value"], flips["lost"] / flips["decisions"], "lost share")
    assert share["ci_low"] < share["value"] < share["ci_high"]
    wet = [s for s in document["slices"] if (s["by"], s["value"]) == ("tag", "wet")][0]
    labels, after = part(guess, ["p0", "p3"])
    assert wet["samples"] == 2 and wet["flips"]["lost"] == int(((part(other, ["p0", "p3"])[1] == labels) & (after != labels)).sum())
    # a gate on flips is decided by what was resampled over pictures, not as if pixels were independent
    gate = """schema: accuracy-gates/1
parts: [{name: p, samples: 6, used_for: []}]
slices: [{distance_m: [0, 3, 9]}, tags]
gates:
  - {id: lost, max_lost_share: 0.9, reference: r, part: p, set_by: tests, decides_on: bound, min_count: 1}
  - {id: near, slice: {by: distance_m, value: 0..3}, metric: miou, max_drop: 0.9, reference: r, part: p, set_by: tests, decides_on: bound, min_count: 1}
"""
    (folder / "gates.yaml").write_text(gate)
    decided = evaluate(program, "--task", "segmentation", "--annotations", folder / "tagged.npz", "--predictions", folder / "guess.npz",
                       "--reference-predictions", folder / "other.npz", "--gates", folder / "gates.yaml", "--bootstrap", 50)
    assert [g["verdict"] for g in decided["gates"]] == ["pass", "pass"], decided["gates"]
    near(decided["gates"][0]["value"]["ci_high"], share["ci_high"], "interval of the lost share")

    # what is refused
    def refused(says, annotations="truth.npz", **maps):
        np.savez(folder / "bad.npz", **{**guess, **maps})
        error = evaluate(program, "--task", "segmentation", "--annotations", folder / annotations, "--predictions", folder / "bad.npz",
                         "--slice", "tags" if annotations != "truth.npz" else "class", status=2)
        assert says in error["where"] + ": " + error["message"], error

    refused("bad.npz: p2: shape 3x3 where the labels have 22x30", p2=np.zeros((3, 3), np.uint8))
    refused("bad.npz: p2: a pixel's label is not an integer", p2=np.full((22, 30), 0.5))
    refused("bad.npz: p2: a pixel's label is not an integer", p2=np.full((22, 30), np.nan))
    refused("bad.npz: p2: a pixel's label is not an integer", p2=np.full((22, 30), -1))
    refused("picture 'p9' has no labels", p9=np.zeros((3, 3), np.uint8))
    short = dict(truth, **{"attributes/distance_m": np.arange(5.0)})
    np.savez(folder / "short.npz", **short)
    refused("'attributes/distance_m' has shape 5 where one value for each of 6 samples", annotations="short.npz")
    np.savez(folder / "few.npz", **{n: guess[n] for n in names[1:]})
    error = evaluate(program, "--task", "segmentation", "--annotations", folder / "truth.npz", "--predictions", folder / "few.npz", status=2)
    assert "picture 'p0' has no prediction" in error["message"], error
    whole = (folder / "guess.npz").read_bytes()
    (folder / "cut.npz").write_bytes(whole[:len(whole) // 2])
    evaluate(program, "--task", "segmentation", "--annotations", folder / "truth.npz", "--predictions", folder / "cut.npz", status=2)


def per_region_overlap(maps, masks):
    """Area under PRO to a false positive rate of 0.3 by every threshold, regions by scipy."""
    regions = []
    for heat, mask in zip(maps, masks):
        labels, count = ndimage.label(mask, structure=np.ones((3, 3)))
        regions += [heat[labels == r + 1] for r in range(count)]
    good = np.concatenate([heat[mask == 0] for heat, mask in zip(maps, masks)])
    points = [(0.0, 0.0)]
    for threshold in np.unique(np.concatenate([heat.ravel() for heat in maps]))[::-1]:
        points.append(((good >= threshold).mean(), np.mean([(region >= threshold).mean() for region in regions])))
    rate, overlap = map(np.array, zip(*points))
    end = np.interp(0.3, rate, overlap)
    inside = rate < 0.3
    return np.trapezoid([*overlap[inside], end], [*rate[inside], 0.3]) / 0.3


def anomaly(program, folder):
    rng = np.random.default_rng(6)
    masks, maps = {}, {}
    for i in range(12):
        mask = np.zeros((24, 18), np.uint8)
        if i % 2:
            mask[3:9, 4:8] = 1
            mask[15:18, 12:17] = 255
            mask[9, 8] = 1  # touches the first one at a corner
        masks[f"masks/p{i}"] = mask
        heat = rng.random(mask.shape) + (mask > 0) * rng.uniform(0.1, 0.8)
        maps[f"maps/p{i}"] = heat.astype(np.float16).astype(np.float32)  # few steps: ties
    np.savez(folder / "masks.npz", **masks)
    np.savez(folder / "maps.npz", **maps)
    document = evaluate(program, "--task", "anomaly", "--annotations", folder / "masks.npz", "--predictions", folder / "maps.npz",
                        "--threshold", 1.2, "--bootstrap", 50)
    names = [n.split("/")[1] for n in masks]
    flat_mask = np.concatenate([masks[f"masks/{n}"].ravel() > 0 for n in names])
    flat_map = np.concatenate([maps[f"maps/{n}"].ravel() for n in names])
    near(value(document, "pixel_auroc"), metrics.roc_auc_score(flat_mask, flat_map), "pixel AUROC")
    bad = np.array([masks[f"masks/{n}"].any() for n in names])
    scores = np.array([maps[f"maps/{n}"].max() for n in names])
    near(value(document, "image_auroc"), metrics.roc_auc_score(bad, scores), "image AUROC")
    near(value(document, "image_f1"), metrics.f1_score(bad, scores >= 1.2), "F1")
    near(value(document, "aupro"), per_region_overlap([maps[f"maps/{n}"] for n in names],
                                                      [masks[f"masks/{n}"] > 0 for n in names]), "AUPRO")
    # float32 maps: within what the document says the steps can change
    full = {name: rng.random(heat.shape).astype(np.float32) + 0.1 * (masks[name.replace("maps", "masks")] > 0)
            for name, heat in maps.items()}
    np.savez(folder / "full.npz", **full)
    document = evaluate(program, "--task", "anomaly", "--annotations", folder / "masks.npz", "--predictions", folder / "full.npz",
                        "--reference-predictions", folder / "maps.npz", "--threshold", 1.0, "--bootstrap", 0)
    exact = metrics.roc_auc_score(flat_mask, np.concatenate([full[f"maps/{n}"].ravel() for n in names]))
    near(value(document, "pixel_auroc", "candidate"), exact, "pixel AUROC", document["pixel_resolution"])
    assert document["pixel_resolution"] < 1e-3

    # slices by attribute, tag and class, each with the numbers of its pictures
    distance = np.arange(12.0)
    np.savez(folder / "tagged.npz", **masks, **{"attributes/distance_m": distance,
                                                "attributes/tags": np.array(["dim" if i % 3 == 0 else "" for i in range(12)])})
    document = evaluate(program, "--task", "anomaly", "--annotations", folder / "tagged.npz", "--predictions", folder / "maps.npz",
                        "--reference-predictions", folder / "full.npz", "--threshold", 1.2, "--bootstrap", 50,
                        "--slice", "distance_m=0,6,20", "--slice", "tags", "--slice", "class")
    for band, which in (("0..6", distance < 6), ("6..20", distance >= 6)):
        near(slice_value(document, "distance_m", band, "image_auroc", "candidate"), metrics.roc_auc_score(bad[which], scores[which]), band)
        near(slice_value(document, "distance_m", band, "image_f1", "candidate"), metrics.f1_score(bad[which], scores[which] >= 1.2), band)
    dim = np.arange(12) % 3 == 0
    near(slice_value(document, "tag", "dim", "image_auroc", "candidate"), metrics.roc_auc_score(bad[dim], scores[dim]), "AUROC of a tag")
    by_class = {s["value"]: s for s in document["slices"] if s["by"] == "class"}
    assert {name: s["n"] for name, s in by_class.items()} == {"good": 6, "defective": 6}
    assert sum(s["flips"]["lost"] for s in by_class.values()) == document["flips"]["lost"]
    near(by_class["defective"]["metrics"]["image_recall"]["candidate"], metrics.recall_score(bad, scores >= 1.2), "recall")

    def refused(says, **changed):
        np.savez(folder / "bad.npz", **{name: heat for name, heat in {**maps, **changed}.items() if heat is not None})
        error = evaluate(program, "--task", "anomaly", "--annotations", folder / "masks.npz", "--predictions", folder / "bad.npz", status=2)
        assert says in error["where"] + ": " + error["message"], error

    refused("maps/p3: pixel 0 is no finite number", **{"maps/p3": np.full((24, 18), np.nan, np.float32)})
    refused("maps/p3: shape 3x3 where the mask has 24x18", **{"maps/p3": np.zeros((3, 3), np.float32)})
    refused("11 maps for 12 labelled pictures", **{"maps/p3": None})
    refused("picture 'p3' has no map", **{"maps/p3": None, "maps/other": maps["maps/p3"]})


def memory(program, folder):
    """Ten times as many pictures take hardly more memory: their counts are kept, never their pixels."""
    # freed memory that AddressSanitizer holds back is not the program's
    environment = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") +
                       ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64")

    def peak(task, count):
        rng = np.random.default_rng(8)
        pictures = {f"p{i}": rng.integers(0, 3, (512, 512)).astype(np.float32 if task == "anomaly" else np.uint8) for i in range(count)}
        if task == "anomaly":
            np.savez_compressed(folder / "truth.npz", **{f"masks/{n}": (m > 1).astype(np.uint8) for n, m in pictures.items()})
            pictures = {f"maps/{n}": m for n, m in pictures.items()}
        else:
            np.savez_compressed(folder / "truth.npz", **pictures)
        np.savez_compressed(folder / "side.npz", **pictures)
        # a process that is started counts what its parent had: a small one starts it
        starter = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
                   "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run([sys.executable, "-S", "-c", starter, program, "evaluate", "--task", task, "--annotations",
                               folder / "truth.npz", "--predictions", folder / "side.npz", "--bootstrap", "0", "--json", "--no-progress"],
                              capture_output=True, text=True, check=True, env=environment)
        return int(done.stdout) / 1024

    for task in ("segmentation", "anomaly"):
        few, many = peak(task, 6), peak(task, 60)
        assert many < few + 8, f"{task}: {few:.0f} MB for 6 pictures, {many:.0f} MB for 60"
        print(f"{task}: {few:.0f} MB for 6 pictures, {many:.0f} MB for 60")


def main():
    program = sys.argv[1]
    for check in (classification, segmentation, anomaly, memory):
        with tempfile.TemporaryDirectory() as temp:
            check(program, pathlib.Path(temp))
        print(f"{check.__name__}: ok")


if __name__ == "__main__":
    main()
