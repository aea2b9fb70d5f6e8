#!/usr/bin/env python3
"""Trains the example detector on pictures drawn by make_pictures.py and exports it to ONNX.

    train.py --variant plain --out checkpoints/plain.pt --onnx parts.onnx
    train.py --variant se_silu --half --out checkpoints/se_silu.pt --onnx parts-se.onnx

Needs torch and numpy (and Pillow, for the JPEG step). The checkpoint kept is the one with the best mAP50 on the
validation part; the test part is never read here.
"""
import argparse
import io
import json
import math
import multiprocessing
import time

import numpy as np
import torch
from torch import nn

import make_pictures
from detector import Detector, anchors, load

SIZE = 320


def letterbox_numbers(width, height):
    """Scale and left/top padding of the picture inside the square input: centred, pads rounded down on the left and top."""
    scale = min(SIZE / width, SIZE / height)
    new_w, new_h = round(width * scale), round(height * scale)
    return scale, new_w, new_h, (SIZE - new_w) // 2, (SIZE - new_h) // 2


def draw(job):
    part, index = job
    picture, objects, _ = make_pictures.make_picture(make_pictures.PART_SEED[part], index)
    from PIL import Image
    data = make_pictures.encoded(picture, make_pictures.quality_of(part, index))
    picture = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    labels = [(make_pictures.CLASSES.index(o["category"]), *o["bbox"]) for o in objects]
    return picture, labels


def load_part(part, count, device):
    """Letterboxed uint8 pictures [N, 3, 320, 320] and padded labels [N, 12, 5] (class, x1, y1, x2, y2); class -1: none."""
    jobs = [(part, i) for i in range(count)]
    pictures = torch.empty((count, 3, SIZE, SIZE), dtype=torch.uint8, device=device)
    labels = torch.full((count, 12, 5), -1.0)
    scale, new_w, new_h, left, top = letterbox_numbers(make_pictures.WIDTH, make_pictures.HEIGHT)
    with multiprocessing.Pool() as pool:
        for i, (picture, things) in enumerate(pool.imap(draw, jobs, chunksize=8)):
            image = torch.from_numpy(picture.copy()).to(device).permute(2, 0, 1)[None].float()
            image = nn.functional.interpolate(image, (new_h, new_w), mode="bilinear", align_corners=False).round()
            pictures[i] = 114
            pictures[i, :, top:top + new_h, left:left + new_w] = image[0].clamp(0, 255).to(torch.uint8)
            for j, (label, x, y, w, h) in enumerate(things[:12]):
                labels[i, j] = torch.tensor([label, x * scale + left, y * scale + top, (x + w) * scale + left,
                                             (y + h) * scale + top])
    return pictures, labels.to(device)


def augment(pictures, labels, rng):
    """Mirrors, turns by 180 degrees, zooms and shifts, and changes brightness, contrast and noise."""
    images = pictures.float() / 255
    boxes = labels.clone()
    n = len(images)
    for axis in (2, 3):
        flip = torch.rand(n, device=images.device) < 0.5
        images = torch.where(flip[:, None, None, None], images.flip(axis), images)
        low, high = (2, 4) if axis == 2 else (1, 3)
        new_low, new_high = SIZE - boxes[..., high], SIZE - boxes[..., low]
        boxes[..., low] = torch.where(flip[:, None], new_low, boxes[..., low])
        boxes[..., high] = torch.where(flip[:, None], new_high, boxes[..., high])
    zoom = 0.8 + 0.45 * torch.rand(n, device=images.device)
    shift = (torch.rand(n, 2, device=images.device) - 0.5) * 60
    theta = torch.zeros(n, 2, 3, device=images.device)
    theta[:, 0, 0] = theta[:, 1, 1] = 1 / zoom
    theta[:, :, 2] = -2 * shift / SIZE / zoom[:, None]
    grid = nn.functional.affine_grid(theta, list(images.shape), align_corners=False)
    moved = nn.functional.grid_sample(images - 114 / 255, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    images = moved + 114 / 255
    centre = SIZE / 2
    for column, offset in ((1, 0), (2, 1), (3, 0), (4, 1)):
        boxes[..., column] = (boxes[..., column] - centre) * zoom[:, None] + centre + shift[:, offset, None]
    area = (boxes[..., 3] - boxes[..., 1]) * (boxes[..., 4] - boxes[..., 2])
    boxes[..., 1:] = boxes[..., 1:].clamp(0, SIZE)
    kept = (boxes[..., 3] - boxes[..., 1]) * (boxes[..., 4] - boxes[..., 2])
    boxes[..., 0] = torch.where((labels[..., 0] >= 0) & (kept > 0.5 * area) & (kept > 12), labels[..., 0],
                                torch.full_like(area, -1))
    contrast = 0.8 + 0.4 * torch.rand(n, 1, 1, 1, device=images.device)
    brightness = 0.2 * (torch.rand(n, 1, 1, 1, device=images.device) - 0.5)
    images = (images - 0.4) * contrast + 0.4 + brightness
    images = images + 0.02 * torch.rand(n, 1, 1, 1, device=images.device) * torch.randn_like(images)
    return images.clamp(0, 1), boxes


def corners(box):
    """Boxes [..., 4, A] as centre and size -> [..., A, 4] corners."""
    centre, size = box[:, :2], box[:, 2:4]
    return torch.cat((centre - size / 2, centre + size / 2), 1).transpose(1, 2)


def iou_matrix(a, b):
    """IoU of [N, M, 4] with [N, A, 4] -> [N, M, A]."""
    low = torch.maximum(a[:, :, None, :2], b[:, None, :, :2])
    high = torch.minimum(a[:, :, None, 2:], b[:, None, :, 2:])
    inter = (high - low).clamp(min=0).prod(-1)
    area_a = (a[..., 2:] - a[..., :2]).clamp(min=0).prod(-1)
    area_b = (b[..., 2:] - b[..., :2]).clamp(min=0).prod(-1)
    return inter / (area_a[:, :, None] + area_b[:, None] - inter + 1e-7)


def complete_iou(a, b):
    """CIoU of paired boxes [K, 4]. Source: Zheng et al., 'Distance-IoU Loss' (2020), section 'Complete IoU loss'."""
    low, high = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    inter = (high - low).clamp(min=0).prod(-1)
    wa, ha = (a[:, 2] - a[:, 0]).clamp(min=1e-4), (a[:, 3] - a[:, 1]).clamp(min=1e-4)
    wb, hb = (b[:, 2] - b[:, 0]).clamp(min=1e-4), (b[:, 3] - b[:, 1]).clamp(min=1e-4)
    iou = inter / (wa * ha + wb * hb - inter + 1e-7)
    hull_low, hull_high = torch.minimum(a[:, :2], b[:, :2]), torch.maximum(a[:, 2:], b[:, 2:])
    diagonal = ((hull_high - hull_low) ** 2).sum(-1) + 1e-7
    distance = (((a[:, :2] + a[:, 2:]) - (b[:, :2] + b[:, 2:])) ** 2).sum(-1) / 4
    v = 4 / math.pi ** 2 * (torch.atan(wb / hb) - torch.atan(wa / ha)) ** 2
    with torch.no_grad():
        alpha = v / (1 - iou + v + 1e-7)
    return iou - distance / diagonal - alpha * v


def loss(output, labels, points):
    """Task-aligned assignment (Feng et al., 'TOOD', 2021): top anchors by score^0.5 * IoU^6, then CIoU and BCE."""
    boxes = corners(output[:, :4])
    logits = output[:, 4:].transpose(1, 2)
    truth, classes = labels[..., 1:], labels[..., 0]
    valid = classes >= 0
    with torch.no_grad():
        iou = iou_matrix(truth, boxes)
        scores = torch.sigmoid(logits)
        picked = torch.gather(scores, 2, classes.clamp(min=0).long()[:, None, :].expand(-1, logits.shape[1], -1)).transpose(1, 2)
        inside = ((points[None, None] > truth[:, :, None, :2] - 2) & (points[None, None] < truth[:, :, None, 2:] + 2)).all(-1)
        align = picked.clamp(min=1e-6) ** 0.5 * iou ** 6 * inside * valid[..., None]
        top = align.topk(10, -1)
        chosen = torch.zeros_like(align).scatter_(2, top.indices, 1.0) * (align > 1e-9)
        # An anchor claimed by several objects goes to the one it overlaps most.
        owner = (iou * chosen).argmax(1)
        positive = chosen.sum(1) > 0
        kept = torch.zeros_like(chosen).scatter_(1, owner[:, None], 1.0) * chosen
        align = align * kept
        best_align = align.amax(-1, keepdim=True)
        best_iou = (iou * kept).amax(-1, keepdim=True)
        weight = (align / (best_align + 1e-9) * best_iou).amax(1)
        target = torch.zeros_like(logits)
        label = torch.gather(classes.clamp(min=0).long(), 1, owner)
        target.scatter_(2, label[..., None], (weight * positive)[..., None])
    total = target.sum().clamp(min=1)
    class_loss = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="sum") / total
    rows = positive.nonzero()
    wanted = truth[rows[:, 0], owner[rows[:, 0], rows[:, 1]]]
    found = boxes[rows[:, 0], rows[:, 1]]
    part = weight[rows[:, 0], rows[:, 1]]
    box_loss = ((1 - complete_iou(found, wanted)) * part).sum() / total
    return class_loss + 5 * box_loss


def mean_ap50(model, pictures, labels):
    """mAP at IoU 0.5 by all-point interpolation, enough to choose a checkpoint."""
    import collections
    model.eval()
    found = collections.defaultdict(list)
    truths = collections.Counter()
    with torch.no_grad():
        for start in range(0, len(pictures), 64):
            output = model(pictures[start:start + 64].float() / 255)
            boxes, scores = corners(output[:, :4]), output[:, 4:].transpose(1, 2)
            for i in range(len(boxes)):
                truth = labels[start + i]
                truth = truth[truth[:, 0] >= 0]
                for c in range(scores.shape[2]):
                    mine = truth[truth[:, 0] == c][:, 1:]
                    truths[c] += len(mine)
                    keep = scores[i, :, c] > 0.05
                    box, score = boxes[i][keep], scores[i, keep, c]
                    order = score.argsort(descending=True)[:100]
                    box, score = box[order], score[order]
                    iou = iou_matrix(box[None], box[None])[0].cpu().numpy()
                    alive = []
                    for k in range(len(box)):
                        if all(iou[k, a] <= 0.6 for a in alive):
                            alive.append(k)
                    used = set()
                    match = iou_matrix(box[None], mine[None])[0].cpu().numpy() if len(mine) else None
                    for k in alive:
                        hit = -1
                        if match is not None:
                            options = [(match[k, m], m) for m in range(len(mine)) if m not in used and match[k, m] >= 0.5]
                            if options:
                                hit = max(options)[1]
                                used.add(hit)
                        found[c].append((float(score[k]), hit >= 0))
    values = []
    for c in sorted(truths):
        rows = sorted(found[c], reverse=True)
        hits = np.cumsum([r[1] for r in rows]) if rows else np.zeros(1)
        precision = hits / np.arange(1, len(hits) + 1)
        recall = hits / max(truths[c], 1)
        precision = np.maximum.accumulate(precision[::-1])[::-1]
        values.append(float(np.sum(np.diff(np.concatenate(([0], recall))) * precision)))
    model.train()
    return float(np.mean(values)), values


def train(options):
    """Writes the checkpoint with the best mAP50 on the validation part."""
    torch.manual_seed(options.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    started = time.time()
    pictures, labels = load_part("train", options.train_count, device)
    val_pictures, val_labels = load_part("validation", options.validation_count, device)
    print(f"pictures drawn in {time.time() - started:.0f} s", flush=True)
    model = Detector(len(make_pictures.CLASSES), options.variant).to(device)
    print("parameters", sum(p.numel() for p in model.parameters()), flush=True)
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999), use_buffers=True)
    points = anchors(SIZE)[0].to(device)
    decay = [p for n, p in model.named_parameters() if p.ndim > 1]
    others = [p for n, p in model.named_parameters() if p.ndim <= 1]
    optimiser = torch.optim.AdamW([{"params": decay, "weight_decay": 0.02}, {"params": others, "weight_decay": 0}], lr=2e-3)
    steps = options.epochs * (len(pictures) // options.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=steps + 1, pct_start=0.08)
    best, history, step = -1.0, [], 0
    model.train()
    for epoch in range(options.epochs):
        order = torch.randperm(len(pictures), device=device)
        running = 0.0
        for start in range(0, len(order) - options.batch + 1, options.batch):
            chosen = order[start:start + options.batch]
            images, boxes = augment(pictures[chosen], labels[chosen], None)
            value = loss(model(images), boxes, points)
            optimiser.zero_grad(set_to_none=True)
            value.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimiser.step()
            schedule.step()
            average.update_parameters(model)
            step += 1
            running += float(value.detach()) if step % 20 == 0 else 0.0
        if epoch % 5 == 4 or epoch == options.epochs - 1:
            score, by_class = mean_ap50(average.module, val_pictures, val_labels)
            history.append({"epoch": epoch + 1, "validation_map50": score})
            print(f"epoch {epoch + 1} loss {running / max(1, len(order) // options.batch // 20):.3f} mAP50 {score:.4f} "
                  + " ".join(f"{v:.3f}" for v in by_class) + f" {time.time() - started:.0f} s", flush=True)
            if score > best:
                best = score
                torch.save({"state": {k: v.cpu() for k, v in average.module.state_dict().items()}, "variant": options.variant,
                            "classes": make_pictures.CLASSES, "selected_on": "validation part, mAP50",
                            "validation_map50": score, "epoch": epoch + 1, "seed": options.seed, "history": history,
                            "train_count": options.train_count, "torch": str(torch.__version__)}, options.out)
    print(json.dumps({"validation_map50": best, "seconds": round(time.time() - started)}))


def halve(checkpoint):
    """The kernels in float16; biases and the statistics of normalisation stay. detector.load() gives them back as float32."""
    state = {key: value.half() if value.ndim == 4 else value for key, value in checkpoint["state"].items()}
    return dict(checkpoint, state=state, kernels="float16, rounded after the validation")


def export(options):
    """What the kept checkpoint holds, as ONNX."""
    torch.onnx.export(load(options.out), torch.zeros(1, 3, SIZE, SIZE), options.onnx, input_names=["images"],
                      output_names=["output0"], opset_version=17, dynamo=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--variant", choices=["plain", "se_silu"], default="plain")
    parser.add_argument("--train-count", type=int, default=6000)
    parser.add_argument("--validation-count", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--out", required=True, help="checkpoint (.pt)")
    parser.add_argument("--onnx", required=True)
    parser.add_argument("--half", action="store_true", help="keeps the convolutions' weights in half precision: half the file")
    parser.add_argument("--take", metavar="FILE", help="trains nothing: takes this checkpoint")
    options = parser.parse_args()
    if options.take:
        torch.save(torch.load(options.take, map_location="cpu", weights_only=True), options.out)
    else:
        train(options)
    if options.half:
        torch.save(halve(torch.load(options.out, map_location="cpu", weights_only=True)), options.out)
    export(options)


if __name__ == "__main__":
    main()
