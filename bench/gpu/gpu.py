#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models on Tenon's GPU device beside torch: one table.

Every model is written in torch, exported to ONNX, and run by both with inputs and outputs in the device's memory. torch runs
channels last, with cuDNN's choice measured, and replays a CUDA graph. The two take turns, and their outputs are compared.
Needs torch with CUDA, torchvision and transformers.

  gpu.py --worker build/release/peers/gpu_worker [--models resnet50,vit] [--batches 1,8,32] [--precisions f16,f32]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
from torch import nn
import torch.nn.functional as F


def conv(inputs, outputs, kernel=3, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.SiLU())


class C2f(nn.Module):
    """As in YOLOv8: halves, of which one goes through bottlenecks, joined again."""

    def __init__(self, inputs, outputs, count, adds):
        super().__init__()
        self.half, self.adds = outputs // 2, adds
        self.first = conv(inputs, outputs, 1)
        self.parts = nn.ModuleList(nn.Sequential(conv(self.half, self.half), conv(self.half, self.half)) for _ in range(count))
        self.last = conv((2 + count) * self.half, outputs, 1)

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for part in self.parts:
            y = part(parts[-1])
            parts.append(y + parts[-1] if self.adds else y)
        return self.last(torch.cat(parts, 1))


class Yolo(nn.Module):
    """The shape of YOLOv8s without its decoding: backbone, SPPF, two ways through the pyramid, three heads."""

    def __init__(self, classes=80):
        super().__init__()
        w = [32, 64, 128, 256, 512]
        self.stem = nn.Sequential(conv(3, w[0], 3, 2), conv(w[0], w[1], 3, 2), C2f(w[1], w[1], 1, True))
        self.c3 = nn.Sequential(conv(w[1], w[2], 3, 2), C2f(w[2], w[2], 2, True))
        self.c4 = nn.Sequential(conv(w[2], w[3], 3, 2), C2f(w[3], w[3], 2, True))
        self.c5 = nn.Sequential(conv(w[3], w[4], 3, 2), C2f(w[4], w[4], 1, True))
        self.before, self.after = conv(w[4], w[3], 1), conv(2 * w[4], w[4], 1)
        self.up4, self.up3 = C2f(w[4] + w[3], w[3], 1, False), C2f(w[3] + w[2], w[2], 1, False)
        self.down3, self.down4 = conv(w[2], w[2], 3, 2), conv(w[3], w[3], 3, 2)
        self.n4, self.n5 = C2f(w[3] + w[2], w[3], 1, False), C2f(w[4] + w[3], w[4], 1, False)
        self.heads = nn.ModuleList(nn.Sequential(conv(c, 128), conv(128, 128), nn.Conv2d(128, 64 + classes, 1)) for c in w[2:])

    def forward(self, x):
        c3 = self.c3(self.stem(x))
        c4 = self.c4(c3)
        x = self.before(self.c5(c4))
        parts = [x]
        for _ in range(3):
            parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
        c5 = self.after(torch.cat(parts, 1))
        p4 = self.up4(torch.cat((F.interpolate(c5, scale_factor=2.0), c4), 1))
        p3 = self.up3(torch.cat((F.interpolate(p4, scale_factor=2.0), c3), 1))
        n4 = self.n4(torch.cat((self.down3(p3), p4), 1))
        n5 = self.n5(torch.cat((self.down4(n4), c5), 1))
        return torch.cat([head(y).flatten(2) for head, y in zip(self.heads, (p3, n4, n5))], 2)


class Unet(nn.Module):
    def __init__(self, width=64, levels=4):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, 1, 1), nn.ReLU(), nn.Conv2d(o, o, 3, 1, 1), nn.ReLU())
        w = [width << i for i in range(levels)]
        self.down = nn.ModuleList(block(i, o) for i, o in zip([3] + w, w))
        self.up = nn.ModuleList(block(w[i] + w[i + 1], w[i]) for i in range(levels - 1))
        self.last = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for i in reversed(range(len(self.up))):
            x = self.up[i](torch.cat((F.interpolate(x, scale_factor=2.0), kept[i]), 1))
        return self.last(x)


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        from transformers import BertConfig, BertModel
        self.model = BertModel(BertConfig(attn_implementation="sdpa"), add_pooling_layer=False)

    def forward(self, ids):
        return self.model(ids).last_hidden_state


def model_of(name):
    import torchvision
    torch.manual_seed(1)
    size = {"yolo": 640, "unet": 256}.get(name, 224)
    made = {"resnet50": torchvision.models.resnet50, "mobilenetv2": torchvision.models.mobilenet_v2,
            "vit": torchvision.models.vit_b_16, "yolo": Yolo, "unet": Unet, "bert": Bert}[name]().eval()
    for module in made.modules():  # Statistics of 0 and 1 would be folded to nothing.
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.05)
            module.running_var.uniform_(0.8, 1.2)
    if name == "vit":  # Its last layer begins as zeros.
        nn.init.normal_(made.heads.head.weight, std=0.02)
    example = (lambda batch: torch.randint(0, 30000, (batch, 128))) if name == "bert" else (lambda batch: torch.randn(batch, 3, size, size))
    return made, example


def time_torch(model, example, precision, seconds):
    """Milliseconds a batch of a replayed graph, and the output."""
    kind = torch.float16 if precision == "f16" else torch.float32
    model = model.to("cuda", kind)
    x = example.cuda()
    if x.is_floating_point():
        x = x.to(kind)
    if x.dim() == 4:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    with torch.inference_mode():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(5):
                model(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        times = []
        total = 0
        while total < seconds * 1000 or len(times) < 5:
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            a.record()
            graph.replay()
            b.record()
            b.synchronize()
            times.append(a.elapsed_time(b))
            total += times[-1]
    return sorted(times)[len(times) // 2], y.float().cpu().numpy()


def time_tenon(worker, path, precision, seconds, folder, profile=False):
    command = [worker, str(path), precision, str(seconds), str(folder)] + (["profile"] if profile else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=None if profile else subprocess.PIPE, text=True, timeout=300)
    if done.returncode:
        return {"error": ((done.stderr or "") + done.stdout).strip()[-600:]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--models", default="resnet50,mobilenetv2,yolo,unet,vit,bert")
    parser.add_argument("--batches", default="1,8,32")
    parser.add_argument("--precisions", default="f16,f32")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--profile", action="store_true", help="the kernels that take longest, to stderr")
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    print("| model | batch | precision | torch ms | Tenon ms | ratio | best | start ms | compile s | worst error |\n" + "|---" * 10 + "|")
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name in options.models.split(","):
            model, example = model_of(name)
            for batch in map(int, options.batches.split(",")):
                x = example(batch)
                path = folder / f"{name}.onnx"
                torch.onnx.export(model.float().cpu(), (x,), str(path), opset_version=17, dynamo=False)
                x.numpy().tofile(folder / "input_0.bin")
                for precision in options.precisions.split(","):
                    # In turns: twice each, the median of each half.
                    theirs, wanted = time_torch(model, x, precision, options.seconds / 2)
                    ours = time_tenon(options.worker, path, precision, options.seconds, folder)
                    again, _ = time_torch(model, x, precision, options.seconds / 2)
                    torch_ms = (theirs + again) / 2
                    row = {"model": name, "batch": batch, "precision": precision, "torch_ms": torch_ms, **ours}
                    rows.append(row)
                    if "error" in ours:
                        print(f"| {name} | {batch} | {precision} | {torch_ms:.3f} | {ours['error']} |", flush=True)
                        continue
                    got = numpy.fromfile(folder / "output_0.bin", numpy.float32).reshape(wanted.shape)
                    error = float(numpy.abs(got - wanted).max() / numpy.abs(wanted).max())
                    row["error_of_largest"] = error
                    print(f"| {name} | {batch} | {precision} | {torch_ms:.3f} | {ours['ms']:.3f} | {torch_ms / ours['ms']:.2f} | "
                          f"{ours['best_ms']:.3f} | {ours['start_ms']:.3f} | {ours['compile_ms'] / 1000:.1f} | {error:.4f} |", flush=True)
                    if options.profile:
                        print(f"profile: {name}, batch {batch}, {precision}", file=sys.stderr, flush=True)
                        time_tenon(options.worker, path, precision, 0, folder, True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    sys.exit(main())
