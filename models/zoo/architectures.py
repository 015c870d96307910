# SPDX-License-Identifier: Apache-2.0
"""The zoo's networks: the shapes of well-known models, weights at random. Each function returns a GraphBuilder."""
import numpy as np
import dense
import detectors
import pictures
from builder import GraphBuilder, scaled
from onnx import TensorProto


def resnet50(name, width=1.0, size=224, depths=(3, 4, 6, 3), classes=1000):
    g = GraphBuilder(name)
    *_, (x, channels) = pictures.residual_stages(g, g.input("input", [1, 3, size, size]), width, depths)
    g.output(g.classifier(x, channels, classes), "logits", [1, classes])
    return g


def mobilenetv2(name, width=1.0, size=224, classes=1000):
    g = GraphBuilder(name)
    *_, (x, channels) = pictures.inverted_stages(g, g.input("input", [1, 3, size, size]), width)
    last = scaled(1280, width)
    x = g.conv(x, channels, last, 1, act="relu6", norm=True)
    g.output(g.node("Softmax", g.classifier(x, last, classes), axis=1), "prob", [1, classes])
    return g


class YoloParts:
    """The blocks of a v8-like detector."""

    def __init__(self, g):
        self.g = g

    def conv(self, x, channels_in, channels_out, kernel=1, stride=1):
        return self.g.conv(x, channels_in, channels_out, kernel, stride, act="silu")

    def c2f(self, x, channels_in, channels_out, repeats, shortcut):
        g, half = self.g, channels_out // 2
        parts = g.nodes("Split", [self.conv(x, channels_in, channels_out), g.ints(half, half)], 2, axis=1)
        for _ in range(repeats):
            y = self.conv(self.conv(parts[-1], half, half, 3), half, half, 3)
            parts.append(g.node("Add", y, parts[-1]) if shortcut else y)
        return self.conv(g.node("Concat", *parts, axis=1), half * len(parts), channels_out)

    def pyramid_pool(self, x, channels):
        levels = [self.conv(x, channels, channels // 2)]
        for _ in range(3):
            levels.append(self.g.node("MaxPool", levels[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2] * 4))
        return self.conv(self.g.node("Concat", *levels, axis=1), 2 * channels, channels)


def yolo(name, width=0.5, size=640, classes=80, depth=1):
    """C2f blocks, SPPF, PAN neck, anchor-free head with distribution focal loss decoding; no NMS."""
    g = GraphBuilder(name)
    parts = YoloParts(g)
    c1, c2, c3, c4, c5 = (scaled(c, width) for c in (64, 128, 256, 512, 512))

    def join(*tensors):
        return g.node("Concat", *tensors, axis=1)

    x = parts.conv(g.input("images", [1, 3, size, size]), 3, c1, 3, 2)
    x = parts.c2f(parts.conv(x, c1, c2, 3, 2), c2, c2, depth, True)
    p3 = parts.c2f(parts.conv(x, c2, c3, 3, 2), c3, c3, 2 * depth, True)
    p4 = parts.c2f(parts.conv(p3, c3, c4, 3, 2), c4, c4, 2 * depth, True)
    p5 = parts.pyramid_pool(parts.c2f(parts.conv(p4, c4, c5, 3, 2), c5, c5, depth, True), c5)
    up4 = parts.c2f(join(g.upsample(p5), p4), c5 + c4, c4, depth, False)
    n3 = parts.c2f(join(g.upsample(up4), p3), c4 + c3, c3, depth, False)
    n4 = parts.c2f(join(parts.conv(n3, c3, c3, 3, 2), up4), c3 + c4, c4, depth, False)
    n5 = parts.c2f(join(parts.conv(n4, c4, c4, 3, 2), p5), c4 + c5, c5, depth, False)

    boxes, scores, centres, strides = [], [], [], []
    for feature, channels, stride in ((n3, c3, 8), (n4, c4, 16), (n5, c5, 32)):
        cells, hidden = size // stride, max(16, c3 // 4)
        box = parts.conv(parts.conv(feature, channels, hidden, 3), hidden, hidden, 3)
        score = parts.conv(parts.conv(feature, channels, c3, 3), c3, c3, 3)
        boxes.append(g.reshape(g.conv(box, hidden, 64), 0, 64, -1))
        scores.append(g.reshape(g.conv(score, c3, classes), 0, classes, -1))
        grid = np.arange(cells, dtype=np.float32) + 0.5
        rows, columns = np.meshgrid(grid, grid, indexing="ij")
        centres.append(np.stack([columns.ravel(), rows.ravel()]))
        strides.append(np.full(cells * cells, stride, np.float32))
    centres, strides = np.concatenate(centres, 1)[None], np.concatenate(strides)[None, None]
    count = centres.shape[2]

    # Each side of a box is the expectation over 16 bins; the 1x1 convolution sums bin times probability.
    bins = g.reshape(g.node("Concat", *boxes, axis=2), 0, 4, 16, count)
    bins = g.node("Softmax", g.node("Transpose", bins, perm=[0, 2, 1, 3]), axis=1)
    sides = g.reshape(g.conv(bins, 16, 1), 0, 4, count)
    left_top, right_bottom = g.nodes("Split", [sides, g.ints(2, 2)], 2, axis=1)
    centres = g.constant(centres)
    low, high = g.node("Sub", centres, left_top), g.node("Add", centres, right_bottom)
    middle = g.node("Div", g.node("Add", low, high), g.scalar(2))
    box = g.node("Mul", g.node("Concat", middle, g.node("Sub", high, low), axis=1), g.constant(strides))
    score = g.node("Sigmoid", g.node("Concat", *scores, axis=2))
    g.output(g.node("Concat", box, score, axis=1), "output0", [1, 4 + classes, count])
    return g


def vit(name, features=256, layers=4, heads=8, size=224, patch=16, classes=1000):
    g = GraphBuilder(name)
    patches = (size // patch) ** 2
    tokens = patches + 1
    x = g.conv(g.input("input", [1, 3, size, size]), 3, features, patch, patch, pad=0)
    x = g.node("Transpose", g.reshape(x, 0, features, patches), perm=[0, 2, 1])
    batch = g.node("Shape", x, start=0, end=1)
    token = g.node("Expand", g.constant(g.normal((1, 1, features), 0.02)), g.node("Concat", batch, g.ints(1, features), axis=0))
    x = g.node("Concat", token, x, axis=1)
    x = g.node("Add", x, g.constant(g.normal((1, tokens, features), 0.02)))
    for _ in range(layers):
        x = g.node("Add", x, g.attention(g.layer_norm(x, features), tokens, features, heads))
        x = g.node("Add", x, g.feed_forward(g.layer_norm(x, features), features))
    x = g.node("Gather", g.layer_norm(x, features), g.scalar(0, np.int64), axis=1)
    g.output(g.linear(x, features, classes), "logits", [1, classes])
    return g


def bert(name, features=256, layers=4, heads=8, tokens=128, vocabulary=2000):
    g = GraphBuilder(name)
    ids = g.input("input_ids", [1, tokens], TensorProto.INT64)
    mask = g.input("attention_mask", [1, tokens], TensorProto.INT64)
    words = g.node("Gather", g.constant(g.normal((vocabulary, features), 0.05), "embedding"), ids, axis=0)
    x = g.node("Add", words, g.constant(g.normal((tokens, features), 0.05), "embedding"))
    x = g.layer_norm(x, features)
    # 0 where attended, -10000 elsewhere, added to the scores of every head.
    mask = g.node("Cast", g.node("Unsqueeze", mask, g.ints(1, 2)), to=TensorProto.FLOAT)
    mask = g.node("Mul", g.node("Sub", g.scalar(1), mask), g.scalar(-10000))
    for _ in range(layers):
        x = g.layer_norm(g.node("Add", x, g.attention(x, tokens, features, heads, mask)), features)
        x = g.layer_norm(g.node("Add", x, g.feed_forward(x, features)), features)
    g.output(x, "hidden", [1, tokens, features])
    first = g.node("Gather", x, g.scalar(0, np.int64), axis=1)
    g.output(g.node("Tanh", g.linear(first, features, features)), "pooled", [1, features])
    return g


def whisper(name, features=384, layers=4, heads=6, frames=3000, bands=80):
    """Whisper's sound side: two convolutions along time, then attention over half a minute."""
    g = GraphBuilder(name)
    x, tokens = g.input("sound", [1, bands, frames]), frames // 2
    for channels, stride in ((bands, 1), (features, 2)):
        weights = g.constant(g.normal((features, channels, 3), (1.6 / 3 / channels) ** 0.5), "weight")
        bias = g.constant(g.normal(features, 0.05), "bias")
        x = g.gelu(g.node("Conv", x, weights, bias, kernel_shape=[3], strides=[stride], pads=[1, 1]))
    x = g.node("Add", g.node("Transpose", x, perm=[0, 2, 1]), g.constant(g.normal((tokens, features), 0.05), "embedding"))
    for _ in range(layers):
        x = g.node("Add", x, g.attention(g.layer_norm(x, features), tokens, features, heads))
        x = g.node("Add", x, g.feed_forward(g.layer_norm(x, features), features))
    g.output(g.layer_norm(x, features), "heard", [1, tokens, features])
    return g


def unet(name, width=0.5, size=256, levels=4):
    g = GraphBuilder(name)
    channels = [scaled(64 * 2**level, width) for level in range(levels + 1)]

    def double_conv(x, channels_in, channels_out):
        x = g.conv(x, channels_in, channels_out, 3, act="relu", norm=True)
        return g.conv(x, channels_out, channels_out, 3, act="relu", norm=True)

    x, skips = g.input("input", [1, 3, size, size]), []
    for level in range(levels):
        x = double_conv(x, channels[level - 1] if level else 3, channels[level])
        skips.append(x)
        x = g.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = double_conv(x, channels[levels - 1], channels[levels])
    for level in reversed(range(levels)):
        deep, flat = channels[level + 1], channels[level]
        weights = g.constant(g.normal((deep, flat, 2, 2), (1.6 / deep) ** 0.5), "weight")
        bias = g.constant(np.zeros(flat, np.float32), "bias")
        x = g.node("ConvTranspose", x, weights, bias, kernel_shape=[2, 2], strides=[2, 2])
        x = double_conv(g.node("Concat", skips[level], x, axis=1), 2 * flat, flat)
    g.output(g.node("Sigmoid", g.conv(x, channels[0], 1)), "mask", [1, 1, size, size])
    return g


def lstm(name, features=128, hidden=512, layers=2, tokens=100, classes=64):
    """Bidirectional LSTM layers over a sequence, as speech recognisers stack them."""
    g = GraphBuilder(name)
    x, width = g.input("features", [tokens, 1, features]), features
    for _ in range(layers):
        weights = g.constant(g.normal((2, 4 * hidden, width), width**-0.5), "weight")
        recurrence = g.constant(g.normal((2, 4 * hidden, hidden), hidden**-0.5), "recurrence")
        bias = g.constant(g.normal((2, 8 * hidden), 0.05), "bias")
        y = g.nodes("LSTM", [x, weights, recurrence, bias], 3, hidden_size=hidden, direction="bidirectional")[0]
        x, width = g.reshape(g.node("Transpose", y, perm=[0, 2, 1, 3]), tokens, 1, 2 * hidden), 2 * hidden
    g.output(g.node("Softmax", g.linear(x, width, classes), axis=-1), "scores", [tokens, 1, classes])
    return g


def gru_step(name, features=128, hidden=512, classes=64):
    """One step of a streaming GRU: its state goes in and out in ONNX, and stays within the request in IR."""
    g = GraphBuilder(name)
    x = g.input("features", [1, 1, features])
    state = g.input("state_in", [1, 1, hidden])
    weights = g.constant(g.normal((1, 3 * hidden, features), features**-0.5), "weight")
    recurrence = g.constant(g.normal((1, 3 * hidden, hidden), hidden**-0.5), "recurrence")
    bias = g.constant(g.normal((1, 6 * hidden), 0.05), "bias")
    last = g.nodes("GRU", [x, weights, recurrence, bias, "", state], 2, hidden_size=hidden)[1]
    g.output(g.node("Softmax", g.linear(g.reshape(last, 1, hidden), hidden, classes), axis=-1), "scores", [1, classes])
    g.output(last, "state_out", [1, 1, hidden])
    g.states = {"state_in": "state_out"}
    return g


def loop(name, features=256, steps=16):
    """A Loop that refines a vector by a layer of its own until it has run its rounds, and a branch on what came out."""
    g = GraphBuilder(name)
    x = g.input("x", [1, features])
    weights = g.constant(g.normal((features, features), features**-0.5), "weight")
    body = g.body("round", ["i", "go_on", "value"], [TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT],
                  [[], [], [1, features]])
    value = body.node("Tanh", body.node("Add", body.node("MatMul", "value", weights), x))
    length = body.node("ReduceSum", body.node("Mul", value, value), keepdims=0)
    graph = body.graph([(body.node("Identity", "go_on"), TensorProto.BOOL, []), (value, TensorProto.FLOAT, [1, features]),
                        (length, TensorProto.FLOAT, [])])
    last, lengths = g.nodes("Loop", [g.scalar(steps, np.int64), g.constant(np.array(True)), x], 2, body=graph)
    is_long = g.node("Greater", g.node("ReduceMax", lengths, keepdims=0), g.scalar(features / 4))
    branches = []
    for kind in ("Neg", "Sqrt"):
        branch = g.body(kind, [], [], [])
        made = branch.node(kind, branch.node("Abs", last))
        branches.append(branch.graph([(made, TensorProto.FLOAT, [1, features])]))
    chosen = g.node("If", is_long, then_branch=branches[0], else_branch=branches[1])
    g.output(chosen, "y", [1, features])
    g.output(lengths, "lengths", [steps])
    return g


def relu1(name):
    """The smallest model: what a call costs when there is nothing to compute."""
    g = GraphBuilder(name)
    g.output(g.node("Relu", g.input("x", [16])), "y", [16])
    return g


# name -> (function, arguments); the *_tiny ones are narrow and small, for tests.
MODELS = {
    "resnet50": (resnet50, {}),
    "resnet50_tiny": (resnet50, dict(width=0.25, size=64, depths=(1, 1, 1, 1), classes=100)),
    "mobilenetv2": (mobilenetv2, {}),
    "mobilenetv2_tiny": (mobilenetv2, dict(width=0.35, size=96, classes=100)),
    "yolo": (yolo, {}),
    "yolo_tiny": (yolo, dict(width=0.125, size=160, classes=8)),
    "vit": (vit, {}),
    "vit_tiny": (vit, dict(features=64, layers=2, heads=2, size=64, classes=100)),
    "bert": (bert, {}),
    "bert_tiny": (bert, dict(features=64, layers=2, heads=2, tokens=32, vocabulary=500)),
    "whisper": (whisper, {}),
    "whisper_tiny": (whisper, dict(features=32, layers=1, heads=2, frames=60, bands=16)),
    "unet": (unet, {}),
    "unet_tiny": (unet, dict(width=0.125, size=64, levels=3)),
    "vit_b16": (vit, dict(features=768, layers=12, heads=12)),
    "lstm": (lstm, {}),
    "lstm_tiny": (lstm, dict(features=16, hidden=24, layers=2, tokens=10, classes=8)),
    "gru_step": (gru_step, {}),
    "gru_step_tiny": (gru_step, dict(features=16, hidden=24, classes=8)),
    "loop": (loop, {}),
    "loop_tiny": (loop, dict(features=16, steps=5)),
    "resnet50_int8": (resnet50, {}),
    "resnet50_int8_tiny": (resnet50, dict(width=0.25, size=64, depths=(1, 1, 1, 1), classes=100)),
    "mobilenetv2_int8": (mobilenetv2, {}),
    "yolo_int8": (yolo, {}),
    "yolo_int8_tiny": (yolo, dict(width=0.125, size=160, classes=8)),
    "mobilenetv3": (pictures.mobilenetv3, {}),
    "mobilenetv3_tiny": (pictures.mobilenetv3, dict(width=0.5, size=64, classes=50, stages=[
        (3, 16, 16, True, "relu", 2), (3, 64, 24, False, "relu", 1), (5, 96, 40, True, "hardswish", 2), (5, 240, 40, True, "hardswish", 1)])),
    "efficientnet": (pictures.efficientnet, {}),
    "efficientnet_tiny": (pictures.efficientnet, dict(width=0.5, size=64, classes=50, stages=[(1, 16, 1, 1, 3), (4, 24, 2, 2, 5), (4, 40, 2, 2, 3)])),
    "densenet": (pictures.densenet, {}),
    "densenet_tiny": (pictures.densenet, dict(growth=8, size=64, depths=(2, 3, 2), classes=50)),
    "convnext": (pictures.convnext, {}),
    "convnext_tiny": (pictures.convnext, dict(features=(16, 32), depths=(1, 2), size=64, classes=50)),
    "swin": (pictures.swin, {}),
    "swin_tiny": (pictures.swin, dict(features=16, depths=(2, 2), heads=2, window=4, size=64, classes=50)),
    "segformer": (dense.segformer, {}),
    "segformer_tiny": (dense.segformer, dict(features=(8, 16), depths=(1, 1), heads=(1, 2), shrinks=(2, 1), decoded=16, size=64, classes=6)),
    "raft": (dense.raft, {}),
    "raft_tiny": (dense.raft, dict(width=0.25, height=64, wide=96, iterations=2, radius=2, levels=2)),
    "ssd_lite": (detectors.ssd_lite, dict(seed=5)),  # Of some seeds two scores are near enough for rounding to order them.
    "ssd_lite_tiny": (detectors.ssd_lite, dict(width=0.25, size=96, classes=6, most=20)),
    "faster_rcnn": (detectors.faster_rcnn, {}),
    "faster_rcnn_tiny": (detectors.faster_rcnn, dict(width=0.125, size=128, classes=6, features=16, hidden=32, depths=(1, 1, 1, 1), each=50,
                                                     most=30, found=20, gain=1, spread=1)),
    "relu1": (relu1, {}),
}
