# SPDX-License-Identifier: Apache-2.0
"""Networks with an answer for every pixel: classes, and how far it moved."""
import numpy as np
from builder import GraphBuilder, scaled


def segformer(name, features=(32, 64, 160, 256), depths=(2, 2, 2, 2), heads=(1, 2, 5, 8), shrinks=(8, 4, 2, 1), decoded=256, size=256,
              classes=19):
    """B0. Attention over fewer keys than queries, and a depthwise convolution between a block's two layers. No size: any height and width."""
    g = GraphBuilder(name)

    def tokens(x, width):
        """[1, C, H, W] -> [1, H * W, C], and what leads back."""
        extents = g.node("Shape", x, start=2, end=4)
        return g.node("Transpose", g.reshape(x, 1, width, -1), perm=[0, 2, 1]), extents

    def picture(x, width, extents):
        shape = g.node("Concat", g.ints(1, width), extents, axis=0)
        return g.node("Reshape", g.node("Transpose", x, perm=[0, 2, 1]), shape)

    def attention(x, width, count, shrink, extents):
        fewer = x
        if shrink > 1:
            fewer = g.conv(picture(x, width, extents), width, width, shrink, shrink, pad=0)
            fewer = g.layer_norm(tokens(fewer, width)[0], width)
        query, key, value = (g.linear(each, width, width) for each in (x, fewer, fewer))
        query, key, value = (g.split_heads(each, -1, width, count, [0, 2, 1, 3]) for each in (query, key, value))
        scores = g.node("MatMul", query, g.node("Transpose", key, perm=[0, 1, 3, 2]))
        scores = g.node("Div", scores, g.scalar((width // count) ** 0.5))
        mixed = g.node("Transpose", g.node("MatMul", g.node("Softmax", scores, axis=-1), value), perm=[0, 2, 1, 3])
        return g.linear(g.reshape(mixed, 1, -1, width), width, width)

    def feed_forward(x, width, extents):
        x = picture(g.linear(x, width, 4 * width), 4 * width, extents)
        x, _ = tokens(g.conv(x, 4 * width, 4 * width, 3, groups=4 * width), 4 * width)
        return g.linear(g.gelu(x), 4 * width, width)

    x = g.input("images", [1, 3, size or "height", size or "width"])
    levels, channels = [], 3
    for stage, (width, depth, count, shrink) in enumerate(zip(features, depths, heads, shrinks)):
        x = g.conv(x, channels, width, 3 if stage else 7, 2 if stage else 4)
        x, extents = tokens(x, width)
        x = g.layer_norm(x, width)
        for _ in range(depth):
            x = g.node("Add", x, attention(g.layer_norm(x, width), width, count, shrink, extents))
            x = g.node("Add", x, feed_forward(g.layer_norm(x, width), width, extents))
        x = g.layer_norm(x, width)
        levels.append(picture(g.linear(x, width, decoded), decoded, extents))
        x, channels = picture(x, width, extents), width
    largest = g.node("Concat", g.ints(1, decoded), g.node("Shape", levels[0], start=2, end=4), axis=0)
    levels[1:] = [g.node("Resize", x, "", "", largest, mode="linear", coordinate_transformation_mode="half_pixel") for x in levels[1:]]
    x = g.conv(g.node("Concat", *levels[::-1], axis=1), decoded * len(levels), decoded, act="relu", norm=True)
    quarter = [size // 4] * 2 if size else ["rows", "columns"]
    g.output(g.conv(x, decoded, classes), "classes", [1, classes, *quarter])
    return g


class RaftParts:
    def __init__(self, g, width):
        self.g, self.width = g, width

    def normalised(self, x, channels):
        scale = [self.g.constant(np.full(channels, value, np.float32)) for value in (1, 0)]
        return self.g.node("InstanceNormalization", x, *scale, epsilon=1e-5)

    def encoder(self):
        """To an eighth of the picture's size; the same weights for both pictures."""
        g, channels = self.g, scaled(64, self.width)
        first, blocks = g.shared_conv(3, channels, (7, 7)), []
        for out in (64, 96, 128):
            out = scaled(out, self.width)
            blocks.append((g.shared_conv(channels, out, (3, 3)), g.shared_conv(out, out, (3, 3)), g.shared_conv(channels, out), out))
            channels = out
        last = g.shared_conv(channels, scaled(256, self.width))

        def halved(x):
            return g.node("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])

        def encode(x):
            x = halved(g.node("Relu", self.normalised(first(x), scaled(64, self.width))))
            for i, (conv1, conv2, aside, out) in enumerate(blocks):
                y = g.node("Relu", self.normalised(conv1(x), out))
                y = g.node("Relu", self.normalised(conv2(y), out))
                x = g.node("Relu", g.node("Add", aside(x), y))
                x = halved(x) if i else x
            return last(x)

        return encode


def raft(name, width=1.0, height=256, wide=320, iterations=6, radius=4, levels=4):
    """Optical flow: all pairs of pixels are compared once, and what is near the present guess is looked up in every round."""
    g = GraphBuilder(name)
    parts, rows, columns = RaftParts(g, width), height // 8, wide // 8
    cells, deep, hidden = rows * columns, scaled(256, width), scaled(128, width)
    before, after = (g.input(each, [1, 3, height, wide]) for each in ("before", "after"))
    encode = parts.encoder()
    one, other = (g.reshape(encode(x), 1, deep, cells) for x in (before, after))
    pairs = g.node("MatMul", g.node("Transpose", one, perm=[0, 2, 1]), other)
    pairs = g.reshape(g.node("Div", pairs, g.scalar(deep**0.5)), cells, 1, rows, columns)
    pyramid = [pairs]
    while len(pyramid) < levels:
        pyramid.append(g.node("AveragePool", pyramid[-1], kernel_shape=[2, 2], strides=[2, 2]))

    context = parts.encoder()(before)
    state, context = g.nodes("Split", [context, g.ints(hidden, deep - hidden)], 2, axis=1)
    state, context = g.node("Tanh", state), g.node("Relu", context)

    near = np.arange(-radius, radius + 1, dtype=np.float32)
    around = np.stack(np.meshgrid(near, near, indexing="ij"), -1)[None]
    start = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), 0)[None].astype(np.float32)

    def looked_up(at):
        """[1, levels * (2 * radius + 1)^2, rows, columns]"""
        at = g.reshape(g.node("Transpose", at, perm=[0, 2, 3, 1]), cells, 1, 1, 2)
        found = []
        for level, each in enumerate(pyramid):
            place = g.node("Add", g.node("Div", at, g.scalar(2**level)), g.constant(around))
            extents = np.float32([max(1, columns // 2**level - 1), max(1, rows // 2**level - 1)])
            place = g.node("Sub", g.node("Div", g.node("Mul", place, g.scalar(2)), g.constant(extents)), g.scalar(1))
            part = g.node("GridSample", each, place, mode="bilinear", padding_mode="zeros", align_corners=1)
            found.append(g.reshape(part, 1, rows, columns, (2 * radius + 1) ** 2))
        return g.node("Transpose", g.node("Concat", *found, axis=3), perm=[0, 3, 1, 2])

    seen = levels * (2 * radius + 1) ** 2
    from_pairs, from_flow = g.shared_conv(seen, deep), g.shared_conv(2, hidden, (7, 7))
    joined = g.shared_conv(deep + hidden, hidden - 2, (3, 3))
    inputs = hidden + (deep - hidden) + hidden
    gates = [[g.shared_conv(inputs, hidden, kernel) for _ in range(3)] for kernel in ((1, 5), (5, 1))]
    flow_hidden, flow_last = g.shared_conv(hidden, deep, (3, 3)), g.shared_conv(deep, 2, (3, 3), 0.01)
    at = start = g.constant(start)
    for _ in range(iterations):
        flow = g.node("Sub", at, start)
        motion = g.node("Concat", from_pairs(looked_up(at), "relu"), from_flow(flow, "relu"), axis=1)
        x = g.node("Concat", context, joined(motion, "relu"), flow, axis=1)
        for update, reset, candidate in gates:
            both = g.node("Concat", state, x, axis=1)
            z = update(both, "sigmoid")
            kept = g.node("Mul", reset(both, "sigmoid"), state)
            new = g.node("Tanh", candidate(g.node("Concat", kept, x, axis=1)))
            state = g.node("Add", g.node("Mul", g.node("Sub", g.scalar(1), z), state), g.node("Mul", z, new))
        at = g.node("Add", at, flow_last(flow_hidden(state, "relu")))
    flow = g.node("Mul", g.upsample(g.node("Sub", at, start), "linear", 8), g.scalar(8))
    g.output(flow, "flow", [1, 2, height, wide])
    return g
