# SPDX-License-Identifier: Apache-2.0
"""Classifiers of pictures after ResNet and MobileNetV2, whose bodies stand here too: squeeze and excite, large kernels, dense links, windows
of attention."""
import numpy as np
from builder import GraphBuilder, scaled


def residual_stages(g, x, width=1.0, depths=(3, 4, 6, 3)):
    """ResNet's body: (tensor, channels) of each stage, at a quarter of the picture's size, an eighth and so on."""
    channels = scaled(64, width)
    x = g.conv(x, 3, channels, 7, 2, act="relu", norm=True)
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, depth in enumerate(depths):
        middle = scaled(64 * 2**stage, width)
        for block in range(depth):
            stride = 2 if stage and block == 0 else 1
            y = g.conv(x, channels, middle, 1, act="relu", norm=True)
            y = g.conv(y, middle, middle, 3, stride, act="relu", norm=True)
            y = g.conv(y, middle, 4 * middle, 1, norm=True)
            if stride != 1 or channels != 4 * middle:
                x = g.conv(x, channels, 4 * middle, 1, stride, norm=True)
            x, channels = g.node("Relu", g.node("Add", y, x)), 4 * middle
        yield x, channels


def inverted_stages(g, x, width=1.0):
    """MobileNetV2's body: (tensor, channels) of each stage."""
    channels = scaled(32, width)
    x = g.conv(x, 3, channels, 3, 2, act="relu6", norm=True)
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expansion, out, repeats, first_stride in stages:
        out = scaled(out, width)
        for block in range(repeats):
            stride = first_stride if block == 0 else 1
            hidden = channels * expansion
            y = g.conv(x, channels, hidden, 1, act="relu6", norm=True) if expansion != 1 else x
            y = g.conv(y, hidden, hidden, 3, stride, groups=hidden, act="relu6", norm=True)
            y = g.conv(y, hidden, out, 1, norm=True)
            x = g.node("Add", x, y) if stride == 1 and channels == out else y
            channels = out
        yield x, channels


def mobilenetv3(name, width=1.0, size=224, classes=1000, stages=None):
    """The large one. A stage: kernel, hidden channels, channels, squeeze and excite, activation, stride."""
    stages = stages or [
        (3, 16, 16, False, "relu", 1), (3, 64, 24, False, "relu", 2), (3, 72, 24, False, "relu", 1), (5, 72, 40, True, "relu", 2),
        (5, 120, 40, True, "relu", 1), (5, 120, 40, True, "relu", 1), (3, 240, 80, False, "hardswish", 2), (3, 200, 80, False, "hardswish", 1),
        (3, 184, 80, False, "hardswish", 1), (3, 184, 80, False, "hardswish", 1), (3, 480, 112, True, "hardswish", 1),
        (3, 672, 112, True, "hardswish", 1), (5, 672, 160, True, "hardswish", 2), (5, 960, 160, True, "hardswish", 1),
        (5, 960, 160, True, "hardswish", 1)]
    g = GraphBuilder(name)
    channels = scaled(16, width)
    x = g.conv(g.input("input", [1, 3, size, size]), 3, channels, 3, 2, act="hardswish", norm=True)
    for kernel, hidden, out, excite, act, stride in stages:
        hidden, out = scaled(hidden, width), scaled(out, width)
        y = g.conv(x, channels, hidden, act=act, norm=True) if hidden != channels else x
        y = g.conv(y, hidden, hidden, kernel, stride, groups=hidden, act=act, norm=True)
        if excite:
            y = g.squeeze_excite(y, hidden, scaled(hidden, 0.25), "relu", "hardsigmoid")
        y = g.conv(y, hidden, out, norm=True)
        x, channels = g.node("Add", x, y) if stride == 1 and channels == out else y, out
    last, wide = 6 * channels, scaled(1280, width)
    x = g.node("Flatten", g.node("GlobalAveragePool", g.conv(x, channels, last, act="hardswish", norm=True)), axis=1)
    x = g.activation(g.linear(x, last, wide), "hardswish")
    g.output(g.linear(x, wide, classes), "logits", [1, classes])
    return g


def efficientnet(name, width=1.0, size=224, classes=1000, stages=None):
    """B0. A stage: expansion, channels, repeats, stride, kernel."""
    stages = stages or [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
                        (6, 320, 1, 1, 3)]
    g = GraphBuilder(name)
    channels = scaled(32, width)
    x = g.conv(g.input("input", [1, 3, size, size]), 3, channels, 3, 2, act="silu", norm=True)
    for expansion, out, repeats, first_stride, kernel in stages:
        out = scaled(out, width)
        for block in range(repeats):
            stride, hidden = first_stride if block == 0 else 1, channels * expansion
            y = g.conv(x, channels, hidden, act="silu", norm=True) if expansion != 1 else x
            y = g.conv(y, hidden, hidden, kernel, stride, groups=hidden, act="silu", norm=True)
            y = g.squeeze_excite(y, hidden, max(1, channels // 4), "silu", "sigmoid")
            y = g.conv(y, hidden, out, norm=True)
            x, channels = g.node("Add", x, y) if stride == 1 and channels == out else y, out
    last = scaled(1280, width)
    g.output(g.classifier(g.conv(x, channels, last, act="silu", norm=True), last, classes), "logits", [1, classes])
    return g


def densenet(name, growth=32, size=224, depths=(6, 12, 24, 16), classes=1000):
    """121: every layer reads all before it in its block; normalisation stands before the convolution."""
    g = GraphBuilder(name)
    channels = 2 * growth
    x = g.conv(g.input("input", [1, 3, size, size]), 3, channels, 7, 2, act="relu", norm=True)
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for block, depth in enumerate(depths):
        for _ in range(depth):
            y = g.conv(g.node("Relu", g.batch_norm(x, channels)), channels, 4 * growth, act="relu", norm=True)
            x = g.node("Concat", x, g.conv(y, 4 * growth, growth, 3), axis=1)
            channels += growth
        x = g.node("Relu", g.batch_norm(x, channels))
        if block + 1 < len(depths):
            x = g.node("AveragePool", g.conv(x, channels, channels // 2), kernel_shape=[2, 2], strides=[2, 2])
            channels //= 2
    g.output(g.classifier(x, channels, classes), "logits", [1, classes])
    return g


def convnext(name, features=(96, 192, 384, 768), depths=(3, 3, 9, 3), size=224, classes=1000):
    """Tiny: 7x7 depthwise, then norm and two layers with channels last."""
    g = GraphBuilder(name)

    def channels_last(x):
        return g.node("Transpose", x, perm=[0, 2, 3, 1])

    def channels_first(x):
        return g.node("Transpose", x, perm=[0, 3, 1, 2])

    x = g.conv(g.input("input", [1, 3, size, size]), 3, features[0], 4, 4, pad=0)
    x = channels_first(g.layer_norm(channels_last(x), features[0]))
    for stage, (width, depth) in enumerate(zip(features, depths)):
        if stage:
            x = channels_first(g.layer_norm(channels_last(x), features[stage - 1]))
            x = g.conv(x, features[stage - 1], width, 2, 2, pad=0)
        for _ in range(depth):
            y = channels_last(g.conv(x, width, width, 7, groups=width))
            y = g.feed_forward(g.layer_norm(y, width), width)
            x = g.node("Add", x, channels_first(g.node("Mul", y, g.constant(g.uniform(width, 0.1, 0.3), "scale"))))
    x = g.node("Flatten", g.layer_norm(channels_last(g.node("GlobalAveragePool", x)), features[-1]), axis=1)
    g.output(g.linear(x, features[-1], classes), "logits", [1, classes])
    return g


class SwinParts:
    """Attention within windows that every second block shifts by half of one, as torch's exporter writes it."""

    def __init__(self, g, window):
        self.g, self.window = g, window

    def rolled(self, x, by):
        """By so many rows and columns, around the edges: the exporter's way to write torch.roll."""
        for axis in (1, 2):
            parts = (self.g.slice(x, -by, 1 << 31, axis), self.g.slice(x, 0, -by, axis))
            x = self.g.node("Concat", *parts, axis=axis)
        return x

    def mask(self, cells, shift):
        """-100 between tokens of one window that were no neighbours before the roll."""
        region = np.zeros((cells, cells))
        count = 0
        for rows in (slice(0, -self.window), slice(-self.window, -shift), slice(-shift, None)):
            for columns in (slice(0, -self.window), slice(-self.window, -shift), slice(-shift, None)):
                region[rows, columns] = count
                count += 1
        w, n = self.window, cells // self.window
        region = region.reshape(n, w, n, w).transpose(0, 2, 1, 3).reshape(n * n, w * w)
        return np.where(region[:, None] != region[:, :, None], -100, 0).astype(np.float32)

    def attention(self, x, cells, width, heads, shift):
        """x: [1, cells, cells, width]."""
        g, w = self.g, self.window
        n, tokens = cells // w, w * w
        if shift:
            x = self.rolled(x, -shift)
        x = g.node("Transpose", g.reshape(x, 1, n, w, n, w, width), perm=[0, 1, 3, 2, 4, 5])
        x = g.reshape(x, n * n, tokens, width)
        joined = g.reshape(g.linear(x, width, 3 * width), n * n, tokens, 3, heads, width // heads)
        joined = g.node("Transpose", joined, perm=[2, 0, 3, 1, 4])
        query, key, value = (g.node("Gather", joined, g.scalar(part, np.int64), axis=0) for part in range(3))
        query = g.node("Mul", query, g.scalar((width // heads) ** -0.5))
        scores = g.node("MatMul", query, g.node("Transpose", key, perm=[0, 1, 3, 2]))
        scores = g.node("Add", scores, g.constant(g.normal((1, heads, tokens, tokens), 0.2), "position"))
        if shift:
            scores = g.node("Add", g.reshape(scores, 1, n * n, heads, tokens, tokens), g.constant(self.mask(cells, shift)[None, :, None]))
            scores = g.reshape(scores, n * n, heads, tokens, tokens)
        x = g.node("Transpose", g.node("MatMul", g.node("Softmax", scores, axis=-1), value), perm=[0, 2, 1, 3])
        x = g.linear(g.reshape(x, n * n, tokens, width), width, width)
        x = g.node("Transpose", g.reshape(x, 1, n, n, w, w, width), perm=[0, 1, 3, 2, 4, 5])
        x = g.reshape(x, 1, cells, cells, width)
        return self.rolled(x, shift) if shift else x

    def merged(self, x, width):
        """Each square of four tokens becomes one."""
        g = self.g
        rows = [g.slice(x, row, 1 << 31, 1, 2) for row in (0, 1)]
        quarters = [g.slice(rows[row], column, 1 << 31, 2, 2) for column in (0, 1) for row in (0, 1)]
        return g.linear(g.layer_norm(g.node("Concat", *quarters, axis=3), 4 * width), 4 * width, 2 * width)


def swin(name, features=96, depths=(2, 2, 6, 2), heads=3, window=7, size=224, classes=1000):
    g = GraphBuilder(name)
    parts, cells, width = SwinParts(g, window), size // 4, features
    x = g.node("Transpose", g.conv(g.input("input", [1, 3, size, size]), 3, width, 4, 4, pad=0), perm=[0, 2, 3, 1])
    x = g.layer_norm(x, width)
    for stage, depth in enumerate(depths):
        if stage:
            x, cells, width, heads = parts.merged(x, width), cells // 2, 2 * width, 2 * heads
        for block in range(depth):
            shift = window // 2 if block % 2 and cells > window else 0
            x = g.node("Add", x, parts.attention(g.layer_norm(x, width), cells, width, heads, shift))
            x = g.node("Add", x, g.feed_forward(g.layer_norm(x, width), width))
    x = g.node("ReduceMean", g.layer_norm(x, width), axes=[1, 2], keepdims=0)
    g.output(g.linear(x, width, classes), "logits", [1, classes])
    return g
