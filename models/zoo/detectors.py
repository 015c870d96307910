# SPDX-License-Identifier: Apache-2.0
"""Detectors with all that follows the last layer in the graph, as exporters write it: how many boxes there are is known when they were computed."""
import numpy as np
from builder import GraphBuilder, scaled
from onnx import TensorProto
from pictures import inverted_stages, residual_stages


def column(g, x, index):
    """[N, C] -> [N]"""
    return g.node("Gather", x, g.scalar(index, np.int64), axis=1)


def at_most(g, x, count):
    """The extent of x, or count if that is less: [1], int64."""
    return g.node("Min", g.node("Shape", x, start=0, end=1), g.ints(count))


def decoded(g, anchors, deltas, size):
    """Boxes (x1, y1, x2, y2) in the picture, from boxes (constant, or [N, 4] computed) and how far they are off: [N, 4] or [N, C, 4]."""
    def part(x, index):
        return g.slice(x, index, index + 1, -1)

    width, height = (g.node("Sub", part(anchors, i + 2), part(anchors, i)) for i in range(2))
    half = g.scalar(0.5)
    limit = g.scalar(np.log(1000 / 16))
    sides = []
    for axis, extent in enumerate((width, height)):
        middle = g.node("Add", part(anchors, axis), g.node("Mul", extent, half))
        middle = g.node("Add", g.node("Mul", part(deltas, axis), extent), middle)
        growth = g.node("Mul", g.node("Exp", g.node("Min", part(deltas, axis + 2), limit)), extent)
        growth = g.node("Mul", growth, half)
        sides.append((g.node("Sub", middle, growth), g.node("Add", middle, growth)))
    boxes = g.node("Concat", sides[0][0], sides[1][0], sides[0][1], sides[1][1], axis=-1)
    return g.node("Clip", boxes, g.scalar(0), g.scalar(size))


def suppressed(g, boxes, scores, most, overlap, threshold):
    """boxes [1, N, 4], scores [1, C, N] -> [M, 3]: picture, class, box."""
    limits = (g.ints(most), g.constant(np.float32([overlap])), g.constant(np.float32([threshold])))
    return g.node("NonMaxSuppression", boxes, scores, *limits)


def ssd_lite(name, width=1.0, size=320, classes=21, most=100, seed=1234):
    g = GraphBuilder(name, seed)
    bodies = list(inverted_stages(g, g.input("images", [1, 3, size, size]), width))
    features = [bodies[4], bodies[6]]
    for out in (512, 256, 256, 128):
        x, channels = features[-1]
        out, hidden = scaled(out, width), scaled(out // 2, width)
        x = g.conv(x, channels, hidden, act="relu6", norm=True)
        x = g.conv(x, hidden, hidden, 3, 2, groups=hidden, act="relu6", norm=True)
        features.append((g.conv(x, hidden, out, act="relu6", norm=True), out))
    cells = [size // 16, size // 32]
    while len(cells) < len(features):
        cells.append((cells[-1] + 1) // 2)
    anchors, deltas, logits = [], [], []
    for level, ((x, channels), count) in enumerate(zip(features, cells)):
        for made, each in ((deltas, 4), (logits, classes)):
            y = g.conv(x, channels, channels, 3, groups=channels, act="relu6", norm=True)
            y = g.conv(y, channels, 6 * each)
            y = g.node("Transpose", g.reshape(y, 0, 6, each, count, count), perm=[0, 3, 4, 1, 2])
            made.append(g.reshape(y, 0, -1, each))
        scale = size * (0.2 + 0.15 * level)
        middles = (np.arange(count) + 0.5) * size / count
        rows, columns = np.meshgrid(middles, middles, indexing="ij")
        ratios = np.array([1, 1.2, 2, 0.5, 3, 1 / 3])
        wide, tall = (scale * np.sqrt(r) / 2 for r in (ratios, 1 / ratios))
        boxes = [columns[..., None] - wide, rows[..., None] - tall, columns[..., None] + wide, rows[..., None] + tall]
        anchors.append(np.stack(boxes, -1).reshape(-1, 4))
    anchors = g.constant(np.concatenate(anchors).astype(np.float32)[None], "anchors")
    deltas = g.node("Mul", g.node("Concat", *deltas, axis=1), g.constant(np.float32([0.1, 0.1, 0.2, 0.2])))
    boxes = decoded(g, anchors, deltas, size)
    scores = g.node("Softmax", g.node("Concat", *logits, axis=1), axis=-1)
    scores = g.node("Transpose", g.slice(scores, 1, classes, 2), perm=[0, 2, 1])
    kept = suppressed(g, boxes, scores, most, 0.55, 0.12)
    score = g.node("GatherND", scores, kept)
    best, order = g.nodes("TopK", [score, at_most(g, score, 2 * most)], 2)
    kept = g.node("Gather", kept, order, axis=0)
    g.output(g.node("Gather", g.node("Squeeze", boxes, g.ints(0)), column(g, kept, 2), axis=0), "boxes", ["found", 4])
    g.output(best, "scores", ["found"])
    g.output(column(g, kept, 1), "labels", ["found"], TensorProto.INT64)
    return g


def pyramid(g, bodies, out, gain):
    """The features of each stage times `gain`, summed with those of the coarser ones, and one level more."""
    levels, above = [], None
    for x, channels in reversed(bodies):
        x = g.conv(x, channels, out, gain=gain)
        above = x if above is None else g.node("Add", x, g.upsample(above))
        levels.insert(0, g.conv(above, out, out, 3))
    return levels + [g.node("MaxPool", levels[-1], kernel_shape=[1, 1], strides=[2, 2])]


def proposals(g, levels, channels, size, each, most):
    """[M, 4]: the boxes that one small head finds on every level."""
    hidden_layer = g.shared_conv(channels, channels, (3, 3))
    heads = [g.shared_conv(channels, 3 * n, deviation=deviation * channels**-0.5) for n, deviation in ((1, 1), (4, 0.1))]
    boxes, scores, offsets = [], [], []
    for level, x in enumerate(levels):
        count, stride = size // 4 // 2**level, 4 * 2**level
        hidden = hidden_layer(x, "relu")
        score, delta = (head(hidden) for head in heads)
        score = g.reshape(g.node("Transpose", score, perm=[0, 2, 3, 1]), -1)
        delta = g.node("Transpose", g.reshape(delta, 1, 3, 4, count, count), perm=[0, 3, 4, 1, 2])
        delta = g.reshape(delta, -1, 4)
        ratios = np.array([0.5, 1, 2])
        wide, tall = (8 * stride * np.sqrt(r) / 2 for r in (1 / ratios, ratios))
        middles = np.arange(count) * stride
        rows, columns = np.meshgrid(middles, middles, indexing="ij")
        sides = [columns[..., None] - wide, rows[..., None] - tall, columns[..., None] + wide, rows[..., None] + tall]
        anchors = np.stack(sides, -1).reshape(-1, 4).astype(np.float32)
        best, order = g.nodes("TopK", [score, g.ints(min(each, len(anchors)))], 2)
        anchors, delta = (g.node("Gather", all_of, order, axis=0) for all_of in (g.constant(anchors, "anchors"), delta))
        boxes.append(decoded(g, anchors, delta, size))
        scores.append(g.node("Sigmoid", best))
        offsets.append(np.full((min(each, 3 * count * count), 1), level * 2.0 * size, np.float32))
    boxes, scores = g.node("Concat", *boxes, axis=0), g.node("Concat", *scores, axis=0)
    # Boxes of different levels do not suppress each other: they are moved apart.
    apart = g.node("Unsqueeze", g.node("Add", boxes, g.constant(np.concatenate(offsets))), g.ints(0))
    kept = column(g, suppressed(g, apart, g.node("Unsqueeze", scores, g.ints(0, 1)), most, 0.7, 0), 2)
    _, order = g.nodes("TopK", [g.node("Gather", scores, kept, axis=0), at_most(g, kept, most)], 2)
    return g.node("Gather", boxes, g.node("Gather", kept, order, axis=0), axis=0)


def pooled(g, levels, boxes, channels, pixels=7):
    """[M, channels, 7, 7]: what lies in each box, from the level that fits its size."""
    sides = [g.node("Sub", column(g, boxes, i + 2), column(g, boxes, i)) for i in range(2)]
    area = g.node("Sqrt", g.node("Mul", *sides))
    level = g.node("Div", g.node("Log", g.node("Add", g.node("Div", area, g.scalar(224)), g.scalar(1e-6))), g.scalar(np.log(2)))
    level = g.node("Clip", g.node("Floor", g.node("Add", level, g.scalar(4))), g.scalar(2), g.scalar(5))
    count = g.node("Shape", boxes, start=0, end=1)
    shape = g.node("Concat", count, g.ints(channels, pixels, pixels), axis=0)
    found = g.node("Expand", g.scalar(0), shape)
    for i, x in enumerate(levels[:4]):
        rows = g.node("NonZero", g.node("Equal", level, g.scalar(i + 2)))
        here = g.reshape(rows, -1)
        chosen = g.node("Gather", boxes, here, axis=0)
        pictures = g.node("Expand", g.scalar(0, np.int64), g.node("Shape", here))
        part = g.node("RoiAlign", x, chosen, pictures, output_height=pixels, output_width=pixels, sampling_ratio=2,
                      spatial_scale=1 / (4 * 2**i), mode="avg", coordinate_transformation_mode="output_half_pixel")
        found = g.node("ScatterND", found, g.node("Transpose", rows, perm=[1, 0]), part)
    return found


def faster_rcnn(name, width=1.0, size=320, classes=21, features=256, hidden=1024, depths=(3, 4, 6, 3), each=1000, most=300, found=100,
                gain=1 / 55, spread=4):
    """ResNet-50 with a feature pyramid, in torchvision's form; two stages, so that the second one's shapes come from the first.
    Random features grow over the layers: `gain` undoes that and `spread` widens the last logits, so that no scores are equal."""
    g = GraphBuilder(name)
    bodies = list(residual_stages(g, g.input("images", [1, 3, size, size]), width, depths))
    levels = pyramid(g, bodies, features, gain)
    boxes = proposals(g, levels, features, size, each, most)
    x = g.node("Flatten", pooled(g, levels, boxes, features), axis=1)
    x = g.node("Relu", g.linear(x, features * 49, hidden))
    x = g.node("Relu", g.linear(x, hidden, hidden))
    scores = g.node("Softmax", g.linear(x, hidden, classes, gain=spread), axis=-1)
    deltas = g.node("Mul", g.reshape(g.linear(x, hidden, 4 * classes), -1, classes, 4), g.constant(np.float32([0.1, 0.1, 0.2, 0.2])))
    boxes = decoded(g, g.node("Unsqueeze", boxes, g.ints(1)), deltas, size)
    # The background's column goes; each class's boxes are moved to a place of their own.
    scores = g.reshape(g.slice(scores, 1, classes, 1), -1)
    labels = g.node("Expand", g.constant(np.arange(1, classes, dtype=np.int64)[None]),
                    g.node("Concat", g.node("Shape", boxes, start=0, end=1), g.ints(classes - 1), axis=0))
    boxes, labels = g.reshape(g.slice(boxes, 1, classes, 1), -1, 4), g.reshape(labels, -1)
    likely = g.reshape(g.node("NonZero", g.node("Greater", scores, g.scalar(0.06))), -1)
    boxes, scores, labels = (g.node("Gather", all_of, likely, axis=0) for all_of in (boxes, scores, labels))
    offset = g.node("Unsqueeze", g.node("Mul", g.node("Cast", labels, to=TensorProto.FLOAT), g.scalar(2.0 * size)), g.ints(1))
    apart = g.node("Unsqueeze", g.node("Add", boxes, offset), g.ints(0))
    kept = column(g, suppressed(g, apart, g.node("Unsqueeze", scores, g.ints(0, 1)), 1 << 20, 0.5, 0), 2)
    best, order = g.nodes("TopK", [g.node("Gather", scores, kept, axis=0), at_most(g, kept, found)], 2)
    kept = g.node("Gather", kept, order, axis=0)
    g.output(g.node("Gather", boxes, kept, axis=0), "boxes", ["found", 4])
    g.output(best, "scores", ["found"])
    g.output(g.node("Gather", labels, kept, axis=0), "labels", ["found"], TensorProto.INT64)
    return g
