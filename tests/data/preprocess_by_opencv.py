"""Requal's preprocessing against the pipeline that people write with OpenCV in Python, from decoded pixels; and its decoders of
pictures against OpenCV's and Pillow's.

Bit for bit where both use the same code: OpenCV's own nearest and linear resizing (IPP switched off), every placement, arithmetic
and layout. Where OpenCV's versions differ in code (cubic, area, lanczos4) the largest difference is stated and bounded.
"""
import itertools
import os
import sys
import tempfile

import cv2
import numpy as np

from probe import Probe

CODES = {"nearest": cv2.INTER_NEAREST, "linear": cv2.INTER_LINEAR, "cubic": cv2.INTER_CUBIC, "area": cv2.INTER_AREA,
         "lanczos4": cv2.INTER_LANCZOS4}


def letterbox(picture, width, height, code, side, value):
    """As Ultralytics' LetterBox and its relatives write it."""
    h, w = picture.shape[:2]
    r = min(width / w, height / h)
    new = max(1, round(w * r)), max(1, round(h * r))
    dw, dh = width - new[0], height - new[1]
    if side == "centre":
        left, top = int(round(dw / 2 - 0.1)), int(round(dh / 2 - 0.1))
    else:
        left = top = 0
    if (w, h) != new:
        picture = cv2.resize(picture, new, interpolation=code)
    return cv2.copyMakeBorder(picture, top, dh - top, left, dw - left, cv2.BORDER_CONSTANT, value=value)


def centre_crop(picture, short, width, height, code):
    h, w = picture.shape[:2]
    r = short / min(w, h)
    new = round(w * r), round(h * r)
    if (w, h) != new:
        picture = cv2.resize(picture, new, interpolation=code)
    top, left = (new[1] - height) // 2, (new[0] - width) // 2
    return picture[top:top + height, left:left + width]


def main():
    cv2.ipp.setUseIPP(False)
    cv2.setNumThreads(1)
    probe = Probe(sys.argv[1])
    rng = np.random.default_rng(20261130)
    folder = tempfile.mkdtemp(prefix="requal-preprocess-")
    spec_path, picture_path, out = (os.path.join(folder, n) for n in ("spec.yaml", "picture.npy", "out.npy"))
    sizes = [(400, 300), (300, 400), (33, 77), (640, 480), (641, 479), (320, 320), (1280, 720), (1, 9), (9, 1), (7, 5)]
    modes = ["stretch", "letterbox-centre", "letterbox-end", "centre-crop", "none"]
    arithmetic = [("float32", {"divide": 255}), ("float32", {"scale": 0.00392156862745098}), ("uint8", {}),
                  ("float32", {"divide": 255, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}),
                  ("float16", {"divide": 255}), ("int8", {"mean": 128})]
    worst, compared = {}, 0
    for (w, h), mode, (number, interpolation) in itertools.product(sizes, modes, enumerate(CODES)):
        kind, values = arithmetic[(number + w + len(mode)) % len(arithmetic)]
        colour, layout = ("rgb", "bgr")[(w + number) % 2], ("NCHW", "NHWC")[(h + number) % 2]
        picture = rng.integers(0, 256, (h, w, 3), dtype=np.uint8)
        if number % 2:  # smooth content too
            picture = cv2.GaussianBlur(picture, (0, 0), 3)
        np.save(picture_path, picture)
        code = CODES[interpolation]
        pad = [int(v) for v in rng.integers(0, 256, 3)]
        resize = f"resize: {{mode: {mode.split('-')[0] if 'letterbox' in mode else mode}, interpolation: {interpolation}"
        ordered = picture if colour == "rgb" else np.ascontiguousarray(picture[..., ::-1])
        if mode == "stretch":
            resize += ", width: 96, height: 64"
            wanted = cv2.resize(ordered, (96, 64), interpolation=code) if (w, h) != (96, 64) else ordered
        elif mode == "centre-crop":
            resize += ", width: 48, height: 64, short_side: 80"
            if max(w, h) * 80 / min(w, h) > 4000:
                continue
            wanted = centre_crop(ordered, 80, 48, 64, code)
        elif mode == "none":
            wanted = ordered
        else:
            side = mode.split("-")[1]
            resize += f", width: 320, height: 320, pad: {{side: {side}, value: {pad}}}"
            wanted = letterbox(ordered, 320, 320, code, side, pad)
        with open(spec_path, "w") as file:
            file.write(f"schema: preprocess/1\ndecode: {{colour: {colour}}}\n{resize}}}\nlayout: {layout}\ntype: {kind}\n")
            if values:
                file.write("values: {" + ", ".join(f"{k}: {v}" for k, v in values.items()) + "}\n")
        good, text = probe("preprocess", spec_path, picture_path, out)
        assert good, (mode, interpolation, w, h, text)
        if kind != "uint8":
            wanted = wanted.astype(np.float32)
            for key, step in (("divide", np.divide), ("scale", np.multiply), ("mean", np.subtract), ("std", np.divide)):
                if key in values:
                    wanted = step(wanted, np.asarray(values[key], np.float32))
            if kind == "int8":
                wanted = np.clip(np.rint(wanted), -128, 127)
            wanted = wanted.astype(kind)
        wanted = (wanted.transpose(2, 0, 1) if layout == "NCHW" else wanted)[None]
        got = np.load(out)
        assert got.shape == wanted.shape and got.dtype == wanted.dtype, (mode, got.shape, wanted.shape, got.dtype)
        compared += 1
        if np.array_equal(got, wanted):
            continue
        assert interpolation not in ("nearest", "linear"), f"{mode} {interpolation} {w}x{h} {kind}: not equal bit for bit"
        unit = (1 / values.get("divide", 1)) * values.get("scale", 1) / np.min(values.get("std", 1))
        levels = float(np.abs(got.astype(np.float64) - wanted.astype(np.float64)).max()) / unit
        worst[interpolation] = max(worst.get(interpolation, 0), levels)
    print(f"{compared} inputs compared; equal bit for bit by: {', '.join(k for k in CODES if k not in worst)}")
    good, version = probe("pixels", jpeg(folder, rng), out)
    assert good, version
    for name, levels in worst.items():
        print(f"{name}: differs by at most {levels:.2f} of 255 levels between {version} and opencv {cv2.__version__}")
        assert levels <= 2.01, name
    with_ipp(rng)
    pictures(probe, folder, rng, out)
    grey(probe, folder, rng, spec_path, picture_path, out)


def with_ipp(rng):
    """What a user's pipeline differs by when OpenCV's wheel resizes with Intel's IPP, its default on x86: stated, not hidden."""
    for name, code in CODES.items():
        levels = 0
        for (w, h), new in itertools.product([(400, 300), (641, 479), (1280, 720)], [(320, 240), (640, 480), (97, 61)]):
            picture = cv2.GaussianBlur(rng.integers(0, 256, (h, w, 3), dtype=np.uint8), (0, 0), 1)
            plain = cv2.resize(picture, new, interpolation=code)
            cv2.ipp.setUseIPP(True)
            levels = max(levels, int(np.abs(cv2.resize(picture, new, interpolation=code).astype(int) - plain).max()))
            cv2.ipp.setUseIPP(False)
        print(f"{name}: opencv {cv2.__version__} with IPP "
              f"differs from its own code by at most {levels} of 255 levels")


def jpeg(folder, rng):
    path = os.path.join(folder, "any.jpg")
    cv2.imwrite(path, rng.integers(0, 256, (9, 9, 3), dtype=np.uint8))
    return path


def grey(probe, folder, rng, spec_path, picture_path, out):
    picture = rng.integers(0, 256, (40, 50, 3), dtype=np.uint8)
    np.save(picture_path, picture)
    with open(spec_path, "w") as file:
        file.write("schema: preprocess/1\ndecode: {colour: grey}\nresize: {mode: stretch, width: 20, height: 24}\ntype: uint8\n")
    good, text = probe("preprocess", spec_path, picture_path, out)
    assert good, text
    wanted = cv2.resize(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), (20, 24))
    levels = np.abs(np.load(out)[0, 0].astype(int) - wanted).max()
    print(f"grey: differs by at most {levels} levels")
    assert levels == 0


def pictures(probe, folder, rng, out):
    """Decoded pixels against OpenCV's and Pillow's decoders, in every form that files of pictures take."""
    import PIL.Image

    base = cv2.GaussianBlur(rng.integers(0, 256, (61, 83, 3), dtype=np.uint8), (0, 0), 2)
    image = PIL.Image.fromarray(base)
    files = {}

    def save(name, picture, **options):
        files[name] = os.path.join(folder, name)
        picture.save(files[name], **options)

    for subsampling in (0, 1, 2):
        save(f"s{subsampling}.jpg", image, quality=80, subsampling=subsampling)
        save(f"p{subsampling}.jpg", image, quality=60, subsampling=subsampling, progressive=True)
    save("grey.jpg", image.convert("L"), quality=80)
    save("rgb.png", image)
    save("grey.png", image.convert("L"))
    save("palette.png", image.quantize(64))
    save("one.png", image.convert("1"))
    rgba = image.convert("RGBA")
    rgba.putalpha(image.convert("L"))
    save("alpha.png", rgba)
    save("grey-alpha.png", rgba.convert("LA"))
    exif = PIL.Image.Exif()
    for orientation in range(1, 9):
        exif[0x0112] = orientation
        save(f"turned{orientation}.jpg", image, quality=90, exif=exif)
        save(f"turned{orientation}.png", image, exif=exif)
    differing = []
    for name, path in files.items():
        good, text = probe("pixels", path, out)
        assert good, (name, text)
        got = np.load(out)
        import PIL.ImageOps
        picture = PIL.ImageOps.exif_transpose(PIL.Image.open(path))
        pillow = np.asarray(picture.convert("RGB"))
        opencv = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)[..., ::-1]
        assert got.shape == pillow.shape, (name, got.shape, pillow.shape)
        assert np.array_equal(got, pillow), f"{name}: differs from Pillow by {np.abs(got.astype(int) - pillow).max()}"
        if not (got.shape == opencv.shape and np.array_equal(got, opencv)):
            differing.append(name)
    print(f"{len(files)} pictures: pixels equal Pillow's; OpenCV's differ in: {', '.join(differing) or 'none'}")


if __name__ == "__main__":
    main()
