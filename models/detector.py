# SPDX-License-Identifier: Apache-2.0
"""The demo detector's architecture as a list of layers, the one source for training, export and the FLOP count."""

from dataclasses import dataclass

from scenes import LABELS

INPUT_W, INPUT_H = 512, 288
STRIDES = (8, 16, 32)
ROW = 5 + len(LABELS)  # dx, dy, log w, log h, objectness, one score per label


@dataclass(frozen=True)
class Layer:
    """op is conv, relu, add, concat, maxpool, upsample; norm tells a convolution that batch normalisation follows."""

    name: str
    op: str
    inputs: tuple
    channels: int
    kernel: int = 1
    stride: int = 1
    norm: bool = True


class _Builder:
    def __init__(self):
        self.layers = []
        self.channels = {"image": 3}

    def _add(self, layer):
        self.layers.append(layer)
        self.channels[layer.name] = layer.channels
        return layer.name

    def conv(self, name, source, channels, kernel=1, stride=1):
        """Convolution, normalisation (folded on export) and ReLU: on a CPU ReLU costs nothing, SiLU does."""
        self._add(Layer(name + ".conv", "conv", (source,), channels, kernel, stride))
        return self._add(Layer(name, "relu", (name + ".conv",), channels))

    def linear(self, name, source, channels):
        return self._add(Layer(name, "conv", (source,), channels, norm=False))

    def residual(self, name, source, hidden):
        width = self.channels[source]
        x = self.conv(name + ".reduce", source, hidden, kernel=1 if hidden < width else 3)
        x = self.conv(name + ".expand", x, width, kernel=3)
        return self._add(Layer(name, "add", (source, x), width))

    def concat(self, name, *sources):
        return self._add(Layer(name, "concat", sources, sum(self.channels[s] for s in sources)))

    def maxpool(self, name, source):
        return self._add(Layer(name, "maxpool", (source,), self.channels[source], kernel=5))

    def upsample(self, name, source):
        return self._add(Layer(name, "upsample", (source,), self.channels[source]))


def build():
    """Returns (layers, heads); heads are (stride, box, objectness, classes): names of linear layers."""
    b = _Builder()
    x = b.conv("stem", "image", 16, 3, 2)
    x = b.conv("stage4.down", x, 32, 3, 2)
    x = b.residual("stage4.block1", x, 16)
    x = b.conv("stage8.down", x, 64, 3, 2)
    x = b.residual("stage8.block1", x, 32)
    c8 = b.residual("stage8.block2", x, 32)
    x = b.conv("stage16.down", c8, 96, 3, 2)
    x = b.residual("stage16.block1", x, 48)
    c16 = b.residual("stage16.block2", x, 96)
    x = b.conv("stage32.down", c16, 128, 3, 2)
    x = b.residual("stage32.block1", x, 64)
    c32 = _pooling(b, x)
    heads = []
    for stride, feature in zip(STRIDES, _neck(b, c8, c16, c32)):
        heads.append(_head(b, stride, feature))
    return b.layers, heads


def _pooling(b, x):
    """Context for the deepest level: 5, 9 and 13 wide maxima (one pool applied repeatedly)."""
    x = b.conv("spp.reduce", x, 64)
    p1 = b.maxpool("spp.pool5", x)
    p2 = b.maxpool("spp.pool9", p1)
    p3 = b.maxpool("spp.pool13", p2)
    return b.conv("spp.fuse", b.concat("spp.concat", x, p1, p2, p3), 128)


def _neck(b, c8, c16, c32):
    top = b.conv("neck.lateral32", c32, 64)
    x = b.concat("neck.concat16", b.upsample("neck.up32", top), b.conv("neck.lateral16", c16, 64))
    mid = b.conv("neck.fuse16", x, 64, 3)
    x = b.concat("neck.concat8", b.upsample("neck.up16", mid), b.conv("neck.lateral8", c8, 64))
    fine = b.conv("neck.fuse8", b.conv("neck.squeeze8", x, 48), 64, 3)
    x = b.concat("neck.concat16b", b.conv("neck.down8", fine, 48, 3, 2), mid)
    mid = b.conv("neck.fuse16b", x, 64, 3)
    x = b.concat("neck.concat32b", b.conv("neck.down16", mid, 48, 3, 2), top)
    return fine, mid, b.conv("neck.fuse32b", x, 64, 3)


def _head(b, stride, feature):
    name = f"head{stride}"
    box = b.conv(name + ".box.tower", feature, 48, 3)
    kind = b.conv(name + ".class.tower", feature, 48, 3)
    return (
        stride,
        b.linear(name + ".box", box, 4),
        b.linear(name + ".objectness", box, 1),
        b.linear(name + ".class", kind, len(LABELS)),
    )


def cost(width=INPUT_W, height=INPUT_H):
    """(floating-point operations of the convolutions, a multiply-add counted as two; weights with folded norm)."""
    layers, _ = build()
    channels, pixels = {"image": 3}, {"image": (width, height)}
    operations = weights = 0
    for layer in layers:
        w, h = pixels[layer.inputs[0]]
        if layer.op == "upsample":
            w, h = 2 * w, 2 * h
        elif layer.op == "conv":
            w, h = w // layer.stride, h // layer.stride
            size = channels[layer.inputs[0]] * layer.channels * layer.kernel**2
            operations += 2 * size * w * h
            weights += size + layer.channels
        channels[layer.name], pixels[layer.name] = layer.channels, (w, h)
    return operations, weights


if __name__ == "__main__":
    flops, parameters = cost()
    print(f"{flops / 1e9:.3f} GFLOP per frame, {parameters} weights, {parameters * 4 / 1e6:.2f} MB")
