"""COCO annotations and results for the tests: random ones, and nasty ones made by hand."""
import numpy as np


def random_case(seed, images=30, categories=5, objects=6, detections=12, quantised=False, crowd=0.1):
    """Annotations and results as COCO's JSON has them; ids with gaps, boxes of all three sizes, some records of no area."""
    rng = np.random.default_rng(seed)
    image_ids = sorted(rng.choice(10 * images, images, replace=False).tolist())
    category_ids = sorted(rng.choice(np.arange(1, 4 * categories), categories, replace=False).tolist())
    annotations, results = [], []
    next_id = int(rng.integers(1, 50))
    for image in rng.permutation(image_ids):
        for _ in range(int(rng.integers(0, objects + 1))):
            side = np.exp(rng.uniform(np.log(8), np.log(250), 2))
            x, y = rng.uniform(0, 400, 2)
            box = [float(np.round(v, 2)) for v in (x, y, *side)]
            category = int(rng.choice(category_ids))
            annotations.append({"id": next_id, "image_id": int(image), "category_id": category, "bbox": box,
                                "area": float(np.round(box[2] * box[3] * rng.uniform(0.5, 1.0), 3)),
                                "iscrowd": int(rng.random() < crowd), "distance_m": float(np.round(rng.uniform(0, 70), 1))})
            next_id += int(rng.integers(1, 4))
            for _ in range(int(rng.integers(0, 4))):
                moved = np.array(box) + rng.normal(0, 0.12, 4) * np.array([box[2], box[3], box[2], box[3]])
                results.append({"image_id": int(image), "bbox": [float(v) for v in (*moved[:2], *np.abs(moved[2:]))],
                                "category_id": category if rng.random() < 0.85 else int(rng.choice(category_ids)),
                                "score": float(rng.random())})
        for _ in range(int(rng.integers(0, detections + 1))):
            x, y, w, h = rng.uniform(0, 300, 4)
            results.append({"image_id": int(image), "category_id": int(rng.choice(category_ids)),
                            "bbox": [float(x), float(y), float(w), float(h)], "score": float(rng.random())})
    if quantised:  # many equal scores
        for record in results:
            record["score"] = round(record["score"] * 4) / 4
    results = [results[i] for i in rng.permutation(len(results))]
    return ({"images": [{"id": int(i), "file_name": f"{i}.png", "width": 640, "height": 480} for i in image_ids],
             "categories": [{"id": int(c), "name": f"class{c}"} for c in category_ids], "annotations": annotations}, results)


def nasty_cases():
    """(name, annotations, results)."""
    def set_of(annotations, images=(1, 2, 3), categories=(1, 2)):
        return {"images": [{"id": i} for i in images], "categories": [{"id": c, "name": f"c{c}"} for c in categories],
                "annotations": [{"id": n + 1, "iscrowd": 0, "area": a["bbox"][2] * a["bbox"][3], **a}
                                for n, a in enumerate(annotations)]}

    def found(image, box, score, category=1):
        return {"image_id": image, "category_id": category, "bbox": box, "score": score}

    box, other = [10, 10, 50, 50], [200, 200, 20, 20]
    one = [{"image_id": 1, "category_id": 1, "bbox": box}]
    yield "annotation id 0", set_of([{"id": 0, "image_id": 1, "category_id": 1, "bbox": box},
                                     {"id": 7, "image_id": 2, "category_id": 1, "bbox": box}]), \
        [found(1, box, 0.9), found(2, box, 0.8)]
    yield "crowd swallows many", set_of([{"image_id": 1, "category_id": 1, "bbox": [0, 0, 300, 300], "iscrowd": 1},
                                         {"image_id": 1, "category_id": 1, "bbox": box}]), \
        [found(1, box, 0.9), found(1, [50, 50, 40, 40], 0.8), found(1, [90, 90, 40, 40], 0.95), found(1, [400, 0, 9, 9], 0.5)]
    yield "only crowds", set_of([{"image_id": 1, "category_id": 1, "bbox": box, "iscrowd": 1}]), [found(1, box, 0.5)]
    yield "ignore is overruled by iscrowd", set_of([{"image_id": 1, "category_id": 1, "bbox": box, "ignore": 1}]), \
        [found(1, box, 0.5)]
    yield "equal scores, right one first", set_of(one), [found(1, box, 0.5), found(1, other, 0.5)]
    yield "equal scores, right one last", set_of(one), [found(1, other, 0.5), found(1, box, 0.5)]
    yield "equal scores in two images", set_of(one + [{"image_id": 2, "category_id": 1, "bbox": box}]), \
        [found(2, other, 0.5), found(2, box, 0.5), found(1, box, 0.5), found(1, other, 0.5)]
    yield "boxes of no area", set_of(one + [{"image_id": 1, "category_id": 1, "bbox": [5, 5, 0, 0]}]), \
        [found(1, [5, 5, 0, 0], 0.9), found(1, box, 0.8), found(1, [10, 10, 0, 50], 0.95)]
    yield "empty pictures, wrong ones there", set_of(one, images=(1, 5, 9)), \
        [found(1, box, 0.4), found(5, box, 0.9), found(9, box, 0.1)]
    yield "a class without objects", set_of(one), [found(1, box, 0.9), found(1, box, 0.9, 2)]
    yield "nothing of one size", set_of([{"image_id": 1, "category_id": 1, "bbox": other}]), [found(1, other, 0.9)]
    yield "areas on the borders", set_of([{"image_id": 1, "category_id": 1, "bbox": [0, 0, 32, 32]},
                                          {"image_id": 2, "category_id": 1, "bbox": [0, 0, 96, 96]}]), \
        [found(1, [0, 0, 32, 32], 0.9), found(2, [0, 0, 96, 96], 0.8)]
    yield "ids with gaps", set_of([{"id": 900, "image_id": 70, "category_id": 90, "bbox": box},
                                   {"id": 3, "image_id": 5, "category_id": 17, "bbox": other}], images=(70, 5, 1000),
                                  categories=(90, 17)), [found(70, box, 0.9, 90), found(5, other, 0.8, 17)]
    many = [found(1, [10 + i * 0.01, 10, 50, 50], 0.5 + i / 1000) for i in range(150)]
    yield "more than maxDets", set_of(one), many
    yield "more than maxDets, equal scores", set_of(one), [dict(m, score=0.5) for m in many]
    yield "the right one is beyond maxDets", set_of(one), \
        [found(1, other, 0.9 - i / 1000) for i in range(120)] + [found(1, box, 0.1)]
    yield "two objects, one detection between", set_of(one + [{"image_id": 1, "category_id": 1, "bbox": [20, 10, 50, 50]}]), \
        [found(1, [15, 10, 50, 50], 0.9), found(1, [15, 10, 50, 50], 0.8)]
    yield "exactly half", set_of([{"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]}]), [found(1, [0, 0, 10, 5], 0.9)]
    yield "scores below 0 and above 1", set_of(one), [found(1, box, -3.5), found(1, other, 17.0)]
    yield "no object at all", set_of([]), [found(1, box, 0.9)]
