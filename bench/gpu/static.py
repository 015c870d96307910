# SPDX-License-Identifier: Apache-2.0
"""The static models of ./dev bench gpu beside torch: one table.

Every model is written in torch, exported to ONNX, and run by both with inputs and outputs in the device's memory. torch runs
channels last, with cuDNN's choice measured, and replays a CUDA graph. The two take turns, by one clock, from the call until the host knows
that the result is there, and their outputs are compared.
ONNX Runtime joins them where it has a CUDA provider. The roof is the time that the kernels' multiply-adds and bytes, as the
runtime model says them, take at the rates of cuBLAS and of a copy on the same device.
Needs torch with CUDA, torchvision and transformers.
"""
import copy
import json
import subprocess
import time

import numpy
import torch
from torch import nn
import torch.nn.functional as F

import common


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


def median(times):
    return sorted(times)[len(times) // 2]


def time_calls(run, seconds):
    """Milliseconds from a call to its result: the median."""
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times) < 5:
        start = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - start))
    return median(times)


class TorchGraph:
    """A model with its input as a CUDA graph."""

    def __init__(self, model, example, precision):
        kind = torch.float16 if precision == "f16" else torch.float32
        model, x = copy.deepcopy(model).to("cuda", kind), example.cuda()
        if x.is_floating_point():
            x = x.to(kind)
        if x.dim() == 4:
            model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
        self.kept = model, x
        with torch.inference_mode():
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for _ in range(5):
                    model(x)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = model(x)

    def run(self):
        self.graph.replay()
        torch.cuda.synchronize()


class Worker:
    """Tenon in a process of its own, which compiles at once and waits for its turn."""

    def __init__(self, options, path, precision, seconds, folder, profile=False):
        self.folder = folder
        command = [str(options.build / "peers/gpu_worker"), str(path), precision, str(seconds), str(folder)] + (["profile"] if profile else [])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=None if profile else subprocess.PIPE, text=True,
                                        env=common.environment(options.build, folder))

    def run(self):
        """What it has measured, or its error."""
        try:
            out, errors = self.process.communicate("\n", timeout=120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return {"error": "no answer in two minutes"}
        return {"error": ((errors or "") + out).strip()[-600:]} if self.process.returncode else json.loads(out.splitlines()[-1])

    def result(self, shape):
        return numpy.fromfile(self.folder / "output_0.bin", numpy.float32).reshape(shape)


def time_ort(model, example, precision, seconds, folder):
    """Milliseconds a batch in ONNX Runtime, with input and output in the device's memory."""
    import onnxruntime
    kind = torch.float16 if precision == "f16" else torch.float32
    x = example.to(kind) if example.is_floating_point() else example
    path = folder / "ort.onnx"
    torch.onnx.export(copy.deepcopy(model).to("cuda", kind), (x.cuda(),), str(path), opset_version=17, dynamo=False)
    session = onnxruntime.InferenceSession(str(path), providers=["CUDAExecutionProvider"])
    binding = session.io_binding()
    binding.bind_ortvalue_input(session.get_inputs()[0].name, onnxruntime.OrtValue.ortvalue_from_numpy(x.numpy(), "cuda", 0))
    binding.bind_output(session.get_outputs()[0].name, "cuda")

    def run():
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()

    for _ in range(5):
        run()
    return time_calls(run, seconds)


def has_ort():
    try:
        import onnxruntime
    except ImportError:
        return False
    return "CUDAExecutionProvider" in onnxruntime.get_available_providers()


def peaks():
    """What the device does at most: multiply-adds a second of cuBLAS by precision, and bytes a second of a copy, read and written."""
    found = {}
    for precision, kind in (("f16", torch.float16), ("f32", torch.float32)):
        size = 8192
        a, b = torch.randn(size, size, device="cuda", dtype=kind), torch.randn(size, size, device="cuda", dtype=kind)
        found[precision] = size**3 / time_on_device(lambda: a @ b)
    x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda").random_()
    found["bytes"] = 2 * x.numel() / time_on_device(x.clone)
    return found


def time_on_device(work):
    """Seconds."""
    times = []
    for _ in range(12):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        work()
        b.record()
        b.synchronize()
        times.append(a.elapsed_time(b) / 1000)
    return median(times)


def roof_ms(steps, precision, most):
    """No kernel can be faster than its multiply-adds, nor than its bytes through memory; those that lie in a cache can."""
    return 1000 * sum(max(macs / most[precision], moved / most["bytes"]) for macs, moved in steps)


NAMES = {"resnet50": "ResNet-50", "mobilenetv2": "MobileNetV2", "yolo": "YOLOv8s-like, 640", "unet": "U-Net-like, 256",
         "vit": "ViT-B/16", "bert": "BERT-base, 128 tokens"}


class StaticReport(common.Report):
    """A line has one model and batch in every precision."""

    def __init__(self, options, head, with_ort):
        self.precisions, self.with_ort, self.last = options.precisions.split(","), with_ort, None
        columns = ["torch", *(["ORT"] if with_ort else []), "Tenon", "ratio", "of the roof"]
        super().__init__(options, "static", head, ["model", "batch", *(f"{p}: {column}" for p in self.precisions for column in columns)])

    def add_line(self, rows):
        name, cells = rows[0]["model"], []
        for row in rows:
            if "error" in row:
                cells += [row["error"][:40]] + [""] * (3 + self.with_ort)
                continue
            cells += [f"{row['torch_ms']:.3f}", *([f"{row['ort_ms']:.3f}"] if self.with_ort else []), f"{row['ms']:.3f}",
                      f"{row['torch_ms'] / row['ms']:.2f}", f"{100 * row['roof_ms'] / row['ms']:.0f} %"]
        self.rows += rows[:-1]
        self.add(rows[-1], ["" if name == self.last else NAMES.get(name, name), rows[0]["batch"], *cells])
        self.last = name


def measure(row, graph, worker, seconds):
    """torch's half before Tenon's, and half after. Adds the figures to the row."""
    before = time_calls(graph.run, seconds / 2)
    row.update(worker.run())
    row["torch_ms"] = (before + time_calls(graph.run, seconds / 2)) / 2
    if "error" in row:
        return
    wanted = graph.y.float().cpu().numpy()
    row["error_of_largest"] = float(numpy.abs(worker.result(wanted.shape) - wanted).max() / numpy.abs(wanted).max())
    if not row["error_of_largest"] < (0.01 if row["precision"] == "f16" else 0.001):
        row["error"] = f"{row['error_of_largest']:.4f} of the largest off"


def run(options, folder):
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    most, with_ort = peaks(), has_ort()
    head = (f"milliseconds a batch on one {torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}. "
            f"A copy moves {most['bytes'] / 1e12:.1f} TB/s, cuBLAS multiplies at {2 * most['f16'] / 1e12:.0f} TFLOP/s in f16 and "
            f"{2 * most['f32'] / 1e12:.0f} in f32." + ("" if with_ort else " ONNX Runtime there has no CUDA provider."))
    report = StaticReport(options, head, with_ort)
    for name in NAMES:
        if options.models and name not in options.models:
            continue
        model, example = model_of(name)
        turns = {}
        for batch in map(int, options.batches.split(",")):
            x = example(batch)
            path = folder / f"{name}_{batch}.onnx"
            torch.onnx.export(model, (x,), str(path), opset_version=17, dynamo=False)
            for precision in report.precisions:
                own = folder / f"{name}_{batch}_{precision}"
                own.mkdir()
                x.numpy().tofile(own / "input_0.bin")
                turns.setdefault(batch, []).append((x, {"model": name, "batch": batch, "precision": precision},
                                                    Worker(options, path, precision, options.seconds, own)))
        for batch, each in turns.items():
            for x, row, worker in each:
                measure(row, TorchGraph(model, x, row["precision"]), worker, options.seconds)
                if "steps" in row:
                    row["roof_ms"] = roof_ms(row.pop("steps"), row["precision"], most)
                if with_ort:
                    row["ort_ms"] = time_ort(model, x, row["precision"], options.seconds, worker.folder)
                common.say(f"static: {json.dumps(row)}")
                if options.profile:
                    Worker(options, folder / f"{name}_{batch}.onnx", row["precision"], 0, worker.folder, True).run()
            report.add_line([row for _, row, _ in each])
    return report
