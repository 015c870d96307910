# SPDX-License-Identifier: Apache-2.0
"""Trains the demo detector on procedural scenes (scenes.py) and writes its folded weights for export_onnx.py.

Needs python3-torch and python3-numpy of Debian 12. Two processes: one renders, one learns.
"""

import argparse
import math
import os
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import detector
import metrics
import scenes

CROP = (320, 192)  # objects are at most 100 px here, so that a crop teaches what a full picture does, at 42 % of it
MAX_OBJECTS = 20
SCALE = detector.INPUT_W / scenes.WORLD_W


class Detector(nn.Module):
    """Interprets detector.build(); the output is [B, N, ROW], with objectness and classes as logits."""

    def __init__(self):
        super().__init__()
        self.layers, self.heads = detector.build()
        self.convolutions, self.norms = nn.ModuleDict(), nn.ModuleDict()
        channels = {"image": 3}
        for layer in self.layers:
            if layer.op == "conv":
                self._add_convolution(layer, channels[layer.inputs[0]])
            channels[layer.name] = layer.channels
        for _, _, objectness, kinds in self.heads:
            nn.init.constant_(self.convolutions[_key(objectness)].bias, -4.6)
            nn.init.constant_(self.convolutions[_key(kinds)].bias, -1.0)

    def _add_convolution(self, layer, inputs):
        key = _key(layer.name)
        self.convolutions[key] = nn.Conv2d(
            inputs, layer.channels, layer.kernel, layer.stride, layer.kernel // 2, bias=not layer.norm
        )
        if layer.norm:
            nn.init.kaiming_normal_(self.convolutions[key].weight, mode="fan_out", nonlinearity="relu")
            self.norms[key] = nn.BatchNorm2d(layer.channels, momentum=0.03)

    def forward(self, image):
        values = {"image": image}
        for layer in self.layers:
            values[layer.name] = self._run(layer, [values[name] for name in layer.inputs])
        rows = []
        for _, *names in self.heads:
            level = torch.cat([values[name] for name in names], 1)
            rows.append(level.flatten(2))
        return torch.cat(rows, 2).transpose(1, 2).float()

    def _run(self, layer, x):
        if layer.op == "conv":
            y = self.convolutions[_key(layer.name)](x[0])
            return self.norms[_key(layer.name)](y) if layer.norm else y
        if layer.op == "relu":
            return F.relu(x[0])
        if layer.op == "add":
            return x[0] + x[1]
        if layer.op == "concat":
            return torch.cat(x, 1)
        if layer.op == "maxpool":
            return F.max_pool2d(x[0], layer.kernel, 1, layer.kernel // 2)
        return F.interpolate(x[0], scale_factor=2, mode="nearest")

    def folded_weights(self):
        """Weights and biases of all convolutions, normalisation folded in."""
        arrays = {}
        for layer in self.layers:
            if layer.op != "conv":
                continue
            conv = self.convolutions[_key(layer.name)]
            weight, bias = conv.weight.detach().double(), conv.bias
            if layer.norm:
                norm = self.norms[_key(layer.name)]
                gain = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
                weight = weight * gain[:, None, None, None]
                bias = norm.bias.double() - norm.running_mean.double() * gain
            arrays[layer.name + ".weight"] = weight.detach().float().contiguous().numpy()
            arrays[layer.name + ".bias"] = bias.detach().float().numpy()
        return arrays


def _key(name):
    return name.replace(".", "_")  # ModuleDict takes no dots


# ------------------------------------------------------------------------------------------------------------ data


def render_sample(seed, size, things):
    """One degraded picture (uint8 [h, w, 3]) with its boxes in pixels, labels and which of them not to judge."""
    rng = np.random.default_rng(seed + 1_000_000_000)
    scene = scenes.Scene(seed, things=things)
    full_h = scenes.WORLD_H * SCALE
    x0 = rng.uniform(0, detector.INPUT_W - size[0]) / SCALE if size[0] < detector.INPUT_W else 0.0
    y0 = rng.uniform(0, full_h - size[1]) / SCALE if size[1] < full_h else 0.0
    picture, truths = scene.render(rng.uniform(0, 8), scenes.View(x0, y0, SCALE, *size))
    picture = scenes.degrade(scenes.add_sensor_noise(picture, scene.noise, rng), rng)
    objects = np.full((MAX_OBJECTS, 6), -1, np.float32)  # label, x1, y1, x2, y2, ignored
    for row, truth in zip(objects, truths):
        row[0], row[5] = truth.label, metrics.is_difficult(truth)
        row[1:5] = (np.array(truth.box) - (x0, y0, x0, y0)) * SCALE
    return np.round(picture).astype(np.uint8), objects


def _variant(picture, objects, rng):
    """A second use of a rendered picture: mirrored, with its colours permuted, its contrast changed."""
    width = picture.shape[1]
    picture = picture[:, ::-1][..., rng.permutation(3)].astype(np.float32)
    picture = np.clip((picture - 128) * rng.uniform(0.7, 1.2) + 128 + rng.uniform(-20, 20), 0, 255)
    objects = objects.copy()
    real = objects[:, 0] >= 0
    objects[real, 1], objects[real, 3] = width - objects[real, 3], width - objects[real, 1]
    return picture.astype(np.uint8), objects


class Batches(torch.utils.data.Dataset):
    """Batch i is a function of i alone, so that the number of workers changes nothing."""

    def __init__(self, steps, batch, first_full_step):
        self.steps, self.batch, self.first_full_step = steps, batch, first_full_step

    def __len__(self):
        return self.steps

    def __getitem__(self, step):
        full = step >= self.first_full_step
        size = (detector.INPUT_W, detector.INPUT_H) if full else CROP
        half = self.batch // 4 if full else self.batch // 2
        samples, rng = [], np.random.default_rng(step)
        for k in range(half):
            seed = scenes.TRAIN_SEEDS.start + step * self.batch + k
            assert seed in scenes.TRAIN_SEEDS
            picture, objects = render_sample(seed, size, (4, 12) if full else (6, 16))
            samples += [(picture, objects), _variant(picture, objects, rng)]
        pictures = np.stack([s[0] for s in samples]).transpose(0, 3, 1, 2)
        return np.ascontiguousarray(pictures), np.stack([s[1] for s in samples])


# ------------------------------------------------------------------------------------------------------------ loss


def grid_of(width, height):
    """[N, 3]: column, row and stride of every output row."""
    cells = []
    for stride in detector.STRIDES:
        y, x = torch.meshgrid(torch.arange(height // stride), torch.arange(width // stride), indexing="ij")
        cells.append(torch.stack([x.flatten(), y.flatten(), torch.full((x.numel(),), stride)], 1))
    return torch.cat(cells).float()


def decode(rows, grid):
    """Corner boxes in pixels from raw rows."""
    stride = grid[:, 2:]
    centre = (rows[..., :2] + grid[:, :2]) * stride
    half = torch.exp(rows[..., 2:4].clamp(max=6)) * stride / 2
    return torch.cat([centre - half, centre + half], -1)


def _overlap(a, b):
    """(IoU, generalised IoU) of boxes that broadcast against each other."""
    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    inner = (high - low).clamp(min=0).prod(-1)
    union = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - inner
    hull = (torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])).prod(-1)
    iou = inner / (union + 1e-6)
    return iou, iou - (hull - union) / (hull + 1e-6)


@torch.no_grad()
def assign(rows, boxes, grid, objects, top=8):
    """Task-aligned assignment: per object, the cells near its centre that already predict it best.

    Returns (object index [B, N], positive [B, N], IoU with the own object [B, N], ignored [B, N]).
    """
    truth, labels = objects[..., 1:5], objects[..., 0].long().clamp(min=0)
    judged = (objects[..., 0] >= 0) & (objects[..., 5] == 0)
    centre, stride = (grid[:, :2] + 0.5) * grid[:, 2:], grid[:, 2]
    iou, _ = _overlap(truth[:, :, None], boxes[:, None])
    score = rows[..., 4:5].sigmoid() * rows[..., 5:].sigmoid()
    score = score.gather(2, labels[:, None].expand(-1, score.shape[1], -1)).transpose(1, 2)
    offset = (centre[None, None] - (truth[:, :, None, :2] + truth[:, :, None, 2:]) / 2).abs().amax(-1) / stride
    inside = _inside(centre, truth)
    candidate = (offset < 1.5) & (inside | (offset < 0.75)) & judged[..., None]
    # The small constants let nearness decide while the boxes are still wrong everywhere.
    quality = (score + 1e-4).sqrt() * (iou**4 + 1e-4 * torch.exp(-offset)) * candidate
    best, index = quality.topk(top, 2)
    chosen = torch.zeros_like(quality).scatter_(2, index, (best > 0).float()) * quality
    value, owner = chosen.max(1)
    positive = value > 0
    own_iou = iou.gather(1, owner[:, None]).squeeze(1)
    skipped = ((objects[..., 5] > 0)[..., None] & inside).any(1)
    return owner, positive, own_iou, skipped & ~positive


def _inside(centre, truth):
    low, high = centre[None, None] - truth[:, :, None, :2], truth[:, :, None, 2:] - centre[None, None]
    return torch.minimum(low, high).amin(-1) > 0


def loss_of(rows, grid, objects):
    """(total, box, objectness, class) loss per object."""
    boxes = decode(rows, grid)
    owner, positive, iou, ignored = assign(rows.detach(), boxes.detach(), grid, objects)
    count = positive.sum().clamp(min=1)
    target = torch.where(positive, iou, torch.zeros_like(iou))
    objectness = F.binary_cross_entropy_with_logits(rows[..., 4], target, reduction="none")
    objectness = (objectness * ~ignored).sum() / count
    batch, cell = positive.nonzero(as_tuple=True)
    own = objects[batch, owner[batch, cell]]
    _, generalised = _overlap(boxes[batch, cell], own[:, 1:5])
    kinds = F.one_hot(own[:, 0].long(), len(scenes.LABELS)).float()
    box = (1 - generalised).sum() / count
    kind = F.binary_cross_entropy_with_logits(rows[batch, cell, 5:], kinds, reduction="sum") / count
    return 3 * box + objectness + kind, box, objectness, kind


# -------------------------------------------------------------------------------------------------------- training


class Average:
    """Exponential moving average of the weights: what is evaluated and exported."""

    def __init__(self, model):
        self.model = Detector()
        self.model.load_state_dict(model.state_dict())
        self.updates = 0

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        decay = 0.998 * (1 - math.exp(-self.updates / 200))
        for mine, theirs in zip(self.model.state_dict().values(), model.state_dict().values()):
            if mine.is_floating_point():
                mine.mul_(decay).add_(theirs, alpha=1 - decay)
            else:
                mine.copy_(theirs)


@torch.no_grad()
def evaluate(model, pictures):
    """mAP@0.5 on held-out full pictures."""
    model.eval()
    size = (detector.INPUT_W, detector.INPUT_H)
    grid, found, truth = grid_of(*size), [], []
    for k in range(pictures):
        picture, objects = render_sample(scenes.VALIDATION_SEEDS.start + k, size, (3, 9))
        rows = model(torch.from_numpy(picture.transpose(2, 0, 1)[None].copy()).float() / 255)[0]
        scores = rows[:, 4:5].sigmoid() * rows[:, 5:].sigmoid()
        found.append(metrics.select(decode(rows, grid).numpy(), scores.numpy()))
        truth.append([(int(o[0]), o[1:5], bool(o[5])) for o in objects if o[0] >= 0])
    return metrics.mean_average_precision(found, truth, len(scenes.LABELS))


def _rate(step, steps, peak):
    if step < 100:
        return peak * (step + 1) / 100
    return peak * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step - 100) / (steps - 100))))


def _save(average, path):
    """Replaces the file in one go: an interrupted training leaves the last whole state."""
    average.model.eval()
    np.savez(path + ".part.npz", **average.model.folded_weights())
    os.replace(path + ".part.npz", path)


def _optimiser(model, rate):
    decayed = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    return torch.optim.AdamW([{"params": decayed, "weight_decay": 0.02}, {"params": plain, "weight_decay": 0.0}], lr=rate)


def train(options):
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    model = Detector().to(memory_format=torch.channels_last)
    average, optimiser = Average(model), _optimiser(model, options.rate)
    data = Batches(options.steps, options.batch, int(options.steps * 0.88))
    loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=1, prefetch_factor=4)
    started, mean = time.time(), np.zeros(4)
    for step, (pictures, objects) in enumerate(loader):
        model.train()
        for group in optimiser.param_groups:
            group["lr"] = _rate(step, options.steps, options.rate)
        rows = model((pictures.float() / 255).contiguous(memory_format=torch.channels_last))
        losses = loss_of(rows, grid_of(pictures.shape[3], pictures.shape[2]), objects)
        optimiser.zero_grad(set_to_none=True)
        losses[0].backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimiser.step()
        average.update(model)
        mean += 0.05 * (np.array([float(part) for part in losses]) - mean)
        _report(step, options, started, mean, average)
    _save(average, options.out)
    print(f"done in {(time.time() - started) / 60:.1f} minutes; mAP@0.5 held out {evaluate(average.model, 200):.4f}")


def _report(step, options, started, mean, average):
    done, spent = step + 1, time.time() - started
    if done % 20 == 0:
        left = spent / done * (options.steps - done)
        parts = "box {1:.3f} objectness {2:.3f} class {3:.3f}".format(*mean)
        print(f"step {done}/{options.steps} loss {mean[0]:.3f} ({parts}) {spent / 60:.1f} min, {left / 60:.1f} left", flush=True)
    if done % 200 == 0:
        _save(average, options.out)
        print(f"step {done}: mAP@0.5 held out {evaluate(average.model, 40):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="detector_weights.npz", help="rewritten every 200 steps")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
