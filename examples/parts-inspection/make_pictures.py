#!/usr/bin/env python3
"""Draws the pictures of an imagined inspection line, with labels in COCO form.

Everything is computed with numpy from a seed, so the same part comes out on every machine: a conveyor with
uneven light, loose parts (bolt, washer, bracket), plates with defects (scratch, dent) and clutter that belongs to no
class. An object's size in the picture follows its distance: pixels = FOCAL_PX * size_m / distance_m.

    make_pictures.py --part test --count 420 --out data/test --list parts/test.txt      JPEG files, data/test.json, digests
"""
import argparse
import hashlib
import io
import json
import multiprocessing
import os

import numpy as np

WIDTH, HEIGHT = 400, 300
FOCAL_PX = 900.0
CLASSES = ["bolt", "washer", "bracket", "scratch", "dent"]
SIZE_M = {"bolt": 0.030, "washer": 0.028, "bracket": 0.060, "scratch": 0.070, "dent": 0.032}
BANDS_M = [0.4, 0.8, 1.3, 2.0]
PART_SEED = {"train": 1, "validation": 2, "test": 3}

# Pixel grid, shared by all drawing.
GRID_Y, GRID_X = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)


def smooth_noise(rng, cell):
    """Bilinear noise in [-1, 1] with features of `cell` pixels."""
    rows, cols = HEIGHT // cell + 2, WIDTH // cell + 2
    coarse = rng.uniform(-1, 1, (rows, cols)).astype(np.float32)
    y, x = GRID_Y / cell, GRID_X / cell
    y0, x0 = y.astype(int), x.astype(int)
    fy, fx = y - y0, x - x0
    top = coarse[y0, x0] * (1 - fx) + coarse[y0, x0 + 1] * fx
    bottom = coarse[y0 + 1, x0] * (1 - fx) + coarse[y0 + 1, x0 + 1] * fx
    return top * (1 - fy) + bottom * fy


def rotated(cx, cy, angle):
    """Coordinates relative to (cx, cy), turned by -angle."""
    x, y = GRID_X - cx, GRID_Y - cy
    c, s = np.cos(angle), np.sin(angle)
    return x * c + y * s, -x * s + y * c


def paint(picture, inside, colour):
    """Blends `colour` (3 values, or a picture) where the signed distance `inside` is negative; edges one pixel soft."""
    alpha = np.clip(0.5 - inside, 0, 1)[..., None]
    picture += alpha * (np.asarray(colour, np.float32) - picture)


def box_distance(x, y, half_w, half_h):
    dx, dy = np.abs(x) - half_w, np.abs(y) - half_h
    return np.hypot(np.maximum(dx, 0), np.maximum(dy, 0)) + np.minimum(np.maximum(dx, dy), 0)


def hexagon_distance(x, y, apothem):
    x, y = np.abs(x), np.abs(y)
    return np.maximum(x * 0.8660254 + y * 0.5, y) - apothem


def shaded(colour, x, y, size, light):
    """A metal look: brightness runs across the part in the direction of the light."""
    ramp = (x * light[0] + y * light[1]) / max(size, 1.0)
    return np.clip(np.asarray(colour, np.float32)[None, None, :] * (1 + 0.45 * ramp[..., None]), 0, 255)


def draw_bolt(picture, rng, cx, cy, size, angle, light):
    x, y = rotated(cx, cy, angle)
    tone = rng.uniform(120, 215)
    colour = tone * np.array([1.0, rng.uniform(0.9, 1.0), rng.uniform(0.75, 1.0)])
    head = hexagon_distance(x, y, size * 0.433)
    paint(picture, head, shaded(colour, GRID_X - cx, GRID_Y - cy, size, light))
    paint(picture, np.hypot(x, y) - size * 0.30, shaded(colour * 1.12, GRID_X - cx, GRID_Y - cy, size, light))
    paint(picture, np.abs(np.hypot(x, y) - size * 0.30) - size * 0.025, colour * 0.55)
    return head


def draw_washer(picture, rng, cx, cy, size, angle, light):
    radius = np.hypot(GRID_X - cx, GRID_Y - cy)
    tone = rng.uniform(110, 225)
    colour = tone * np.array([1.0, 1.0, rng.uniform(0.85, 1.05)])
    hole = rng.uniform(0.22, 0.30) * size
    ring = np.maximum(radius - size * 0.5, hole - radius)
    paint(picture, ring, shaded(colour, GRID_X - cx, GRID_Y - cy, size, light))
    return ring


def draw_bracket(picture, rng, cx, cy, size, angle, light):
    x, y = rotated(cx, cy, angle)
    thick = size * rng.uniform(0.13, 0.17)
    arm = size * 0.42
    body = np.minimum(box_distance(x, y + arm - thick, arm, thick), box_distance(x + arm - thick, y, thick, arm))
    tone = rng.uniform(90, 190)
    colour = tone * np.array([rng.uniform(0.75, 1.0), rng.uniform(0.85, 1.0), 1.0])
    paint(picture, body, shaded(colour, GRID_X - cx, GRID_Y - cy, size, light))
    for hx, hy in ((arm - thick, -arm + thick), (-arm + thick, arm - thick)):
        paint(picture, np.hypot(x - hx, y - hy) - thick * 0.45, (35, 35, 38))
    return body


def draw_scratch(picture, rng, cx, cy, size, angle, light):
    x, y = rotated(cx, cy, angle)
    bend = rng.uniform(-0.25, 0.25) * size
    half = size * 0.5
    middle = bend * (1 - (np.clip(x, -half, half) / half) ** 2) - bend * 0.5
    width = max(0.7, size * 0.022) * (1 - 0.6 * np.abs(np.clip(x / half, -1, 1)))
    line = np.maximum(np.abs(y - middle) - width, np.abs(x) - half)
    bright = rng.uniform() < 0.6
    paint(picture, line, (238, 238, 235) if bright else (38, 36, 36))
    if bright:
        paint(picture, np.maximum(np.abs(y - middle - width * 1.8) - width * 0.7, np.abs(x) - half), (70, 70, 70))
    return line


def draw_dent(picture, rng, cx, cy, size, angle, light):
    x, y = rotated(cx, cy, angle)
    squeeze = rng.uniform(0.75, 1.0)
    radius = np.hypot(x, y / squeeze) / (size * 0.5)
    depth = np.clip(1 - radius, 0, 1)
    slope = ((GRID_X - cx) * light[0] + (GRID_Y - cy) * light[1]) / (size * 0.5)
    picture += (depth ** 0.7 * slope * -130)[..., None] - (depth * 38)[..., None]
    np.clip(picture, 0, 255, out=picture)
    return (radius - 0.92) * size * 0.5


DRAW = {"bolt": draw_bolt, "washer": draw_washer, "bracket": draw_bracket, "scratch": draw_scratch, "dent": draw_dent}


def draw_clutter(picture, rng, light):
    """Things that belong to no class: pins, shavings, screws seen from the side, oil spots."""
    for _ in range(rng.integers(2, 7)):
        cx, cy = rng.uniform(0, WIDTH), rng.uniform(0, HEIGHT)
        angle = rng.uniform(0, np.pi)
        kind = rng.integers(0, 4)
        size = rng.uniform(8, 40)
        x, y = rotated(cx, cy, angle)
        tone = rng.uniform(60, 200)
        if kind == 0:
            paint(picture, box_distance(x, y, size * 0.5, size * 0.09), (tone, tone, tone * 0.9))
        elif kind == 1:
            paint(picture, box_distance(x, y, size * 0.28, size * 0.28), (tone * 0.9, tone, tone))
        elif kind == 2:
            spot = (np.hypot(x, y * 1.4) - size * 0.5) / 3
            paint(picture, spot, picture * 0.82)
        else:
            paint(picture, np.hypot(x, y) - size * 0.16, (tone, tone * 0.8, tone * 0.55))


def blurred(picture, sigma):
    reach = int(np.ceil(2.5 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    kernel = (kernel / kernel.sum()).astype(np.float32)
    for axis in (0, 1):
        pad = [(0, 0)] * 3
        pad[axis] = (reach, reach)
        wide = np.pad(picture, pad, mode="edge")
        picture = sum(k * np.take(wide, range(i, i + picture.shape[axis]), axis) for i, k in enumerate(kernel))
    return picture


def make_picture(seed_part, index):
    """One RGB picture (uint8, HEIGHT x WIDTH x 3), its objects and its tags."""
    rng = np.random.Generator(np.random.PCG64([seed_part, index]))
    light_angle = rng.uniform(0, 2 * np.pi)
    light = (np.cos(light_angle), np.sin(light_angle))
    belt = rng.uniform(45, 115)
    base = belt * (1 + 0.10 * smooth_noise(rng, 60) + 0.05 * smooth_noise(rng, 9))
    base = base + 5 * np.sin(GRID_X / rng.uniform(5, 14) + rng.uniform(0, 6))
    tint = np.array([1.0, rng.uniform(0.95, 1.05), rng.uniform(0.92, 1.08)], np.float32)
    picture = (base[..., None] * tint).astype(np.float32)
    draw_clutter(picture, rng, light)

    objects, taken = [], []
    wanted = int(rng.integers(4, 9))
    for attempt in range(wanted * 6):
        if len(objects) >= wanted:
            break
        name = CLASSES[int(rng.integers(0, len(CLASSES)))]
        band = int(rng.integers(0, len(BANDS_M) - 1))
        distance = float(np.round(rng.uniform(BANDS_M[band], BANDS_M[band + 1]), 3))
        size = FOCAL_PX * SIZE_M[name] * rng.uniform(0.85, 1.15) / distance
        reach = size * 0.62
        if reach * 2 > HEIGHT - 8:
            continue
        cx, cy = rng.uniform(reach + 2, WIDTH - reach - 2), rng.uniform(reach + 2, HEIGHT - reach - 2)
        if any(abs(cx - ox) < reach + r and abs(cy - oy) < reach + r for ox, oy, r in taken):
            continue
        taken.append((cx, cy, reach))
        angle = rng.uniform(0, 2 * np.pi)
        if name in ("scratch", "dent"):
            x, y = rotated(cx, cy, angle)
            tone = rng.uniform(115, 190)
            plate = box_distance(x, y, reach * 0.98, reach * rng.uniform(0.62, 0.98)) - 2
            paint(picture, plate, shaded(tone * np.array([1, 1, 1.02]), GRID_X - cx, GRID_Y - cy, size * 2.2, light))
        else:
            shadow = np.hypot(GRID_X - cx - 0.08 * size, GRID_Y - cy - 0.08 * size) - size * 0.45
            paint(picture, shadow / 3, picture * 0.72)
        shape = DRAW[name](picture, rng, cx, cy, size, angle, light)
        rows, cols = np.where(shape < 0.25)
        if len(rows) == 0:
            continue
        left, top = float(cols.min()), float(rows.min())
        width, height = float(cols.max() + 1 - left), float(rows.max() + 1 - top)
        objects.append({"category": name, "bbox": [left, top, width, height], "distance_m": distance})

    gain = rng.uniform(0.65, 1.25)
    gradient = 1 + rng.uniform(0, 0.35) * ((GRID_X / WIDTH - 0.5) * light[0] + (GRID_Y / HEIGHT - 0.5) * light[1])
    picture = picture * (gain * gradient)[..., None]
    tags = ["dim" if gain < 0.85 else "bright" if gain > 1.1 else "normal"]
    sigma = rng.uniform(0, 1.25)
    if sigma > 0.35:
        picture = blurred(picture, sigma)
    if sigma > 0.9:
        tags.append("blurred")
    noise = rng.uniform(1, 9)
    picture = picture + rng.normal(0, noise, picture.shape)
    if noise > 6.5:
        tags.append("noisy")
    return np.clip(np.round(picture), 0, 255).astype(np.uint8), objects, tags


def quality_of(part, index):
    """JPEG quality of a picture: the pictures that a detector is trained and chosen on vary, the others do not."""
    if part == "test":
        return 76
    return int(np.random.default_rng(7).integers(70, 92, index + 1)[index])


def encoded(picture, quality):
    """The bytes of the JPEG file."""
    from PIL import Image
    buffer = io.BytesIO()
    # Huffman tables of the picture's own: an eighth smaller, the same pixels
    Image.fromarray(picture).save(buffer, "JPEG", quality=quality, optimize=True)
    return buffer.getvalue()


def make_file(job):
    """The bytes of a picture's file, its objects and its tags."""
    part, index = job
    picture, objects, tags = make_picture(PART_SEED[part], index)
    return encoded(picture, quality_of(part, index)), objects, tags


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", choices=sorted(PART_SEED), required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--out", required=True, help="folder for the JPEG files; labels go to OUT.json")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="only every K-th picture of the part")
    parser.add_argument("--list", help="writes the digests of the files, as sha256sum does")
    options = parser.parse_args()

    os.makedirs(options.out, exist_ok=True)
    images, annotations = [], []
    jobs = [(options.part, place * options.every) for place in range(options.count)]
    with multiprocessing.Pool() as pool:
        files = list(zip(jobs, pool.imap(make_file, jobs, chunksize=8)))
    for place, ((_, index), (data, objects, tags)) in enumerate(files):
        name = f"{options.part}-{index:04d}.jpg"
        with open(os.path.join(options.out, name), "wb") as file:
            file.write(data)
        digest = hashlib.sha256(data).hexdigest()
        images.append({"id": place + 1, "file_name": name, "width": WIDTH, "height": HEIGHT, "sha256": digest,
                       "tags": tags})
        for thing in objects:
            left, top, width, height = thing["bbox"]
            annotations.append({"id": len(annotations) + 1, "image_id": place + 1, "iscrowd": 0,
                                "category_id": CLASSES.index(thing["category"]) + 1, "bbox": thing["bbox"],
                                "area": width * height, "distance_m": thing["distance_m"]})
    document = {"info": {"description": f"Requal parts inspection, {options.part} part", "seed": PART_SEED[options.part],
                         "licence": "Apache-2.0"},
                "categories": [{"id": i + 1, "name": name} for i, name in enumerate(CLASSES)],
                "images": images, "annotations": annotations}
    with open(options.out + ".json", "w", encoding="utf-8") as file:
        json.dump(document, file, separators=(",", ":"), sort_keys=True)
        file.write("\n")
    if options.list:
        with open(options.list, "w", encoding="utf-8") as file:
            file.writelines(f"{image['sha256']}  {image['file_name']}\n" for image in images)


if __name__ == "__main__":
    main()
