"""Requal's decoders against an implementation of its own in numpy, on random heads of every kind; equal values give equal
decisions, so the results must be the same detections in the same order, numbers to 1e-9."""
import json
import os
import sys
import tempfile

import numpy as np

from probe import Probe

CLASSES = 7


def iou_matrix(boxes):
    a, b = boxes[:, None], boxes[None]
    size = np.clip(np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2]), 0, None)
    inter = size[..., 0] * size[..., 1]
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    union = area[:, None] + area[None] - inter
    return np.where(union > 0, inter / np.where(union > 0, union, 1), 0)


def nms(boxes, scores, classes, mode, threshold, limit, kept_limit):
    """Marks covered ones in a matrix: another way than keeping a list."""
    order = np.lexsort((np.arange(len(scores)), -scores))[:limit]
    boxes, scores, classes = boxes[order], scores[order], classes[order]
    covers = iou_matrix(boxes) > threshold
    if mode == "class-wise":
        covers &= classes[:, None] == classes[None]
    alive = np.ones(len(order), bool)
    for i in range(len(order)):
        if alive[i]:
            alive[i + 1:] &= ~covers[i, i + 1:]
    kept = np.nonzero(alive)[0][:kept_limit]
    return boxes[kept], scores[kept], classes[kept]


def back(boxes, placement, fraction, clip):
    w, h, nw, nh, left, top, iw, ih = placement
    boxes = boxes * (np.array([iw, ih, iw, ih]) if fraction else 1)
    boxes = (boxes - [left, top, left, top]) / [nw / w, nh / h, nw / w, nh / h]
    return np.clip(boxes, 0, [w, h, w, h]) if clip else boxes


def main():
    probe = Probe(sys.argv[1])
    rng = np.random.default_rng(5)
    folder = tempfile.mkdtemp(prefix="requal-decode-")
    spec_path, npz, out = (os.path.join(folder, n) for n in ("spec.yaml", "outputs.npz", "out.json"))
    compared = 0
    for round_number in range(24):
        for kind in ("yolov5", "yolov8", "yolo11", "yolov10", "yolo26", "end-to-end", "efficient-nms", "rows", "batched"):
            count = int(rng.integers(1, 400))
            centre = rng.uniform(20, 300, (count, 2))
            size = rng.uniform(5, 120, (count, 2))
            if round_number % 5 == 4:  # many equal boxes and scores
                centre, size = np.round(centre / 60) * 60 + 1, np.full_like(size, 40)
            scores = rng.uniform(0, 1, (count, CLASSES)) ** 3
            if round_number % 5 == 4:
                scores = np.round(scores, 1)
            objectness = rng.uniform(0, 1, (count, 1))
            corners = np.concatenate((centre - size / 2, centre + size / 2), 1).astype(np.float32)
            middle = np.concatenate((centre, size), 1).astype(np.float32)
            threshold = float(rng.choice([0.05, 0.25, 0.6]))
            mode = str(rng.choice(["class-wise", "agnostic", "none"]))
            iou = float(rng.choice([0.3, 0.45, 0.6]))
            multi = bool(rng.integers(0, 2))
            clip = bool(rng.integers(0, 2))
            fraction = kind == "rows"
            logits = kind == "rows"
            placement = (400, 300, 320, 240, 0, 40, 320, 320)
            ids = [int(v) for v in rng.permutation(90)[:CLASSES]]
            spec = {"kind": kind, "threshold": threshold, "category_ids": ids, "clip": str(clip).lower(),
                    "nms": f"{{mode: {mode}, iou: {iou}, max_candidates: 250, max_detections: 60}}"}
            scores = scores.astype(np.float32)
            if kind in ("yolov5", "yolov8", "yolo11", "rows"):
                spec["multi_label"] = str(multi).lower()
                if kind == "yolov5":
                    head = np.concatenate((middle, objectness.astype(np.float32), scores), 1)[None]
                    real = (scores * objectness.astype(np.float32)).astype(np.float64)
                elif kind == "rows":
                    spec |= {"columns": "[x1, y1, x2, y2, scores]", "units": "fraction", "activation": "sigmoid"}
                    logit = rng.normal(-1, 2, scores.shape).astype(np.float32)
                    head = np.concatenate((corners / np.float32(320), logit), 1)[None]
                    real = 1 / (1 + np.exp(-logit.astype(np.float64)))
                else:
                    head = np.concatenate((middle, scores), 1).T[None]
                    real = scores.astype(np.float64)
                arrays = {"output0": head}
                if kind == "rows":
                    boxes = head[0, :, :4].astype(np.float64)
                else:
                    m = middle.astype(np.float64)
                    boxes = np.concatenate((m[:, :2] - m[:, 2:] / 2, m[:, :2] + m[:, 2:] / 2), 1)
                if multi:
                    at, classes = np.where(real > threshold)
                else:
                    classes = real.argmax(1)
                    at = np.where(real[np.arange(count), classes] > threshold)[0]
                    classes = classes[at]
                boxes, values = boxes[at], real[at, classes]
                if mode == "none":
                    order = np.lexsort((np.arange(len(values)), -values))[:60]
                    boxes, values, classes = boxes[order], values[order], classes[order]
                elif len(values):
                    boxes, values, classes = nms(boxes, values, classes, mode, iou, 250, 60)
            else:
                spec["nms"] = "{mode: none, max_detections: 60}"
                label = rng.integers(0, CLASSES, count)
                value = scores[:, 0]
                if kind == "efficient-nms":
                    shown = int(rng.integers(0, count + 1))
                    arrays = {"num_dets": np.array([[shown]], np.int32), "det_boxes": corners[None],
                              "det_scores": value[None], "det_classes": label[None].astype(np.int32)}
                else:
                    shown = count
                    head = np.concatenate((corners, value[:, None], label[:, None]), 1).astype(np.float32)
                    if kind == "batched":
                        spec |= {"kind": "end-to-end", "columns": "[batch, x1, y1, x2, y2, class, score]"}
                        batch = (rng.uniform(size=count) < 0.1).astype(np.float32)
                        head = np.concatenate((batch[:, None], corners, label[:, None], value[:, None]), 1).astype(np.float32)
                    arrays = {"output0": head[None]}
                at = np.where(value[:shown].astype(np.float64) > threshold)[0]
                if kind == "batched":
                    at = at[batch[at] == 0]
                at = at[np.lexsort((at, -value[at].astype(np.float64)))][:60]
                boxes, values, classes = corners[at].astype(np.float64), value[at].astype(np.float64), label[at]
            np.savez(npz, **arrays)
            with open(spec_path, "w") as file:
                file.write("schema: decoder/1\n" + "".join(f"{k}: {v}\n" for k, v in spec.items()))
            good, text = probe("decode", spec_path, npz, ",".join(map(str, placement)), out)
            assert good, (kind, text)
            got = json.load(open(out))
            assert len(got) == len(values), f"{kind} round {round_number}: {len(got)} results, {len(values)} expected"
            boxes = back(boxes, placement, fraction, clip)
            for row, box, score, label in zip(got, boxes, values, classes):
                wanted = [box[0], box[1], box[2] - box[0], box[3] - box[1]]
                assert row["category_id"] == ids[label], (kind, row, label)
                assert np.allclose(row["bbox"], wanted, rtol=0, atol=1e-9) and abs(row["score"] - score) < 1e-9, (kind, row, wanted)
                compared += 1
    for activation in ("none", "softmax", "sigmoid"):
        values = rng.normal(0, 3, (1, 10)).astype(np.float32)
        np.savez(npz, logits=values)
        with open(spec_path, "w") as file:
            file.write(f"schema: decoder/1\nkind: classification\nactivation: {activation}\ntop: 4\nthreshold: -100\n")
        good, text = probe("decode", spec_path, npz, "1,1,1,1,0,0,1,1", out)
        assert good, text
        x = values[0].astype(np.float64)
        real = {"none": x, "softmax": np.exp(x) / np.exp(x).sum(), "sigmoid": 1 / (1 + np.exp(-x))}[activation]
        best = np.argsort(-real, kind="stable")[:4]
        got = json.load(open(out))
        assert [r["category_id"] for r in got] == best.tolist(), activation
        assert np.allclose([r["score"] for r in got], real[best], rtol=0, atol=1e-12)
    print(f"{compared} detections equal")
    refusals(probe, spec_path, npz, out)


def refusals(probe, spec_path, npz, out):
    """A spec that contradicts the outputs is refused in words."""
    head = np.zeros((1, 9, 50), np.float32)
    cases = [
        ("kind: yolov8\ncategory_ids: [1, 2, 3]", {"output0": head}, "has 5 classes where the spec names 3"),
        ("kind: yolov8\noutput: boxes", {"output0": head}, "no output 'boxes'"),
        ("kind: yolov8", {"a": head, "b": head}, "names none"),
        ("kind: yolov10", {"output0": head}, "50 numbers an anchor"),
        ("kind: yolov8", {"output0": np.zeros((2, 9, 50), np.float32)}, "shape 2x9x50"),
        ("kind: efficient-nms", {"num_dets": np.array([[9]]), "det_boxes": np.zeros((1, 5, 4), np.float32),
                                 "det_scores": np.zeros((1, 5), np.float32), "det_classes": np.zeros((1, 5), np.int32)},
         "no number of detections"),
        ("kind: end-to-end\ncategory_ids: [1]", {"o": np.array([[[0, 0, 5, 5, 0.9, 3]]], np.float32)}, "puts out class"),
        ("kind: end-to-end", {"o": np.array([[[0, 0, 5, 5, 0.9, 0.5]]], np.float32)}, "puts out class"),
        ("kind: yolov9", {"output0": head}, "is not known"),
        ("kind: rows\ncolumns: [x1, y1, scores]", {"output0": head}, "need a box"),
        ("kind: yolov8\nnms: {iou: 1.5}", {"output0": head}, "between 0 and 1"),
        ("kind: yolov8\nthresh: 0.1", {"output0": head}, "thresh"),
    ]
    for spec, arrays, words in cases:
        np.savez(npz, **arrays)
        with open(spec_path, "w") as file:
            file.write("schema: decoder/1\n" + spec + "\n")
        good, text = probe("decode", spec_path, npz, "400,300,320,240,0,40,320,320", out)
        assert not good and words in text and text.startswith("input"), (spec, text)
    nan = np.full((1, 9, 50), np.nan, np.float32)
    nan[0, 4] = 0.9
    np.savez(npz, output0=nan)
    with open(spec_path, "w") as file:
        file.write("schema: decoder/1\nkind: yolov8\n")
    good, text = probe("decode", spec_path, npz, "400,300,320,240,0,40,320,320", out)
    assert good and json.load(open(out)) == [], text


if __name__ == "__main__":
    main()
