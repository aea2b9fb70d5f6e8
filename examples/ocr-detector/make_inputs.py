#!/usr/bin/env python3
"""Makes inputs/text-pictures.npz and its pictures: printed labels as an inspection camera might see them.

    python make_inputs.py [FOLDER]        default: inputs/ beside this script

Needs numpy and Pillow (its own font is used, so that nothing of the machine enters the pictures); scripts/setup puts both into the
test environment. The arrays are what the detector's own pipeline makes of a picture: BGR, (value / 255 - 0.5) / 0.5, NCHW, float32.
"""

import pathlib
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

SIZE = 320

# background, and lines of (text, font size, x, y, colour); an angle turns the whole picture
PICTURES = [
    {
        "name": "label",
        "background": (244, 242, 236),
        "angle": 0,
        "lines": [
            ("REQUAL", 54, 24, 18, (20, 24, 30)),
            ("Part No. 40-7731-B", 26, 26, 92, (20, 24, 30)),
            ("Lot 2026-11 / 0042", 26, 26, 132, (20, 24, 30)),
            ("Made for testing only", 18, 26, 184, (70, 74, 80)),
            ("1x3x320x320 float32", 14, 26, 216, (70, 74, 80)),
            ("0123456789", 40, 26, 252, (20, 24, 30)),
        ],
    },
    {
        "name": "dark-panel",
        "background": (28, 34, 44),
        "angle": 0,
        "lines": [
            ("WARNING", 44, 40, 30, (250, 196, 40)),
            ("High voltage", 34, 40, 96, (236, 240, 244)),
            ("Disconnect before", 24, 40, 158, (236, 240, 244)),
            ("opening the cover", 24, 40, 190, (236, 240, 244)),
            ("IEC 61010-1  230 V", 18, 40, 246, (160, 168, 178)),
        ],
    },
    {
        "name": "tilted",
        "background": (214, 224, 214),
        "angle": 9,
        "lines": [
            ("Batch A7", 46, 52, 60, (24, 60, 34)),
            ("best before 03/2028", 24, 40, 130, (24, 60, 34)),
            ("keep dry", 30, 84, 180, (120, 30, 24)),
            ("sn 88-1204-XK", 20, 70, 236, (24, 60, 34)),
        ],
    },
    {
        "name": "sparse",
        "background": (255, 255, 255),
        "angle": 0,
        "lines": [
            ("ok", 22, 250, 24, (120, 120, 120)),
            ("x", 120, 24, 96, (10, 10, 10)),
            ("fine print below the limit of reading", 9, 60, 288, (90, 90, 90)),
        ],
    },
]


def render(picture):
    image = Image.new("RGB", (SIZE, SIZE), picture["background"])
    draw = ImageDraw.Draw(image)
    for text, size, x, y, colour in picture["lines"]:
        draw.text((x, y), text, font=ImageFont.load_default(size=size), fill=colour)
    if picture["angle"]:
        image = image.rotate(picture["angle"], resample=Image.Resampling.BILINEAR, fillcolor=picture["background"])
    # few colours keep the files small; the PNG is exactly the picture that the detector gets
    return image.quantize(24, dither=Image.Dither.NONE)


def preprocess(image):
    bgr = np.asarray(image.convert("RGB"), dtype=np.float32)[:, :, ::-1]
    return ((bgr / np.float32(255) - np.float32(0.5)) / np.float32(0.5)).transpose(2, 0, 1)[np.newaxis]


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent / "inputs"
    folder.mkdir(parents=True, exist_ok=True)
    samples = []
    for picture in PICTURES:
        image = render(picture)
        image.save(folder / f"{picture['name']}.png", optimize=True)
        samples.append(preprocess(image))
    # one array with a leading axis: that many samples of the input x
    np.savez_compressed(folder / "text-pictures.npz", x=np.stack(samples).astype(np.float32))


if __name__ == "__main__":
    main()
