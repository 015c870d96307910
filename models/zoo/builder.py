# SPDX-License-Identifier: Apache-2.0
"""A small builder of ONNX graphs with random weights, which the zoo's architectures are written with."""
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


def scaled(channels, width):
    """Channels times width, in multiples of eight as the papers do."""
    return max(8, round(channels * width / 8) * 8)


class GraphBuilder:
    """Appends nodes; every method that makes one returns the name of its output tensor."""

    def __init__(self, name: str, seed: int = 1234):
        self.name = name
        self.random = np.random.default_rng(seed)
        self._nodes, self._initializers, self._inputs, self._outputs = [], [], [], []
        self._serial = 0
        self._prefix = ""
        self.block = 0  # linear(): numbers of 4 bits with one scale for so many neighbours; 0: f32
        self.states = {}  # input -> output that an IR keeps as a state between requests

    # --- plumbing ------------------------------------------------------------------------------------------------
    def _unique(self, prefix: str) -> str:
        self._serial += 1
        return f"{self._prefix}{prefix}_{self._serial}"

    def input(self, name, shape, element_type=TensorProto.FLOAT):
        self._inputs.append(helper.make_tensor_value_info(name, element_type, shape))
        return name

    def output(self, tensor, name, shape, element_type=TensorProto.FLOAT):
        self._nodes.append(helper.make_node("Identity", [tensor], [name], name=self._unique("Identity")))
        self._outputs.append(helper.make_tensor_value_info(name, element_type, shape))

    def constant(self, value, prefix="const"):
        name = self._unique(prefix)
        self._initializers.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def scalar(self, value, dtype=np.float32):
        return self.constant(dtype(value))

    def nodes(self, op_type, inputs, outputs, **attributes):
        names = [self._unique(op_type.lower()) for _ in range(outputs)]
        self._nodes.append(helper.make_node(op_type, inputs, names, name=self._unique(op_type), **attributes))
        return names

    def node(self, op_type, *inputs, **attributes):
        return self.nodes(op_type, list(inputs), 1, **attributes)[0]

    def body(self, name, inputs, types, shapes):
        """A builder of a graph within a node; it may read this one's tensors by name."""
        inner = GraphBuilder(name)
        inner.random, inner._prefix = self.random, f"{self._unique(name)}/"
        for each in zip(inputs, types, shapes):
            inner.input(each[0], each[2], each[1])
        return inner

    def graph(self, outputs):
        """The finished graph of a body; outputs are (tensor, type, shape)."""
        infos = [helper.make_tensor_value_info(*output) for output in outputs]
        return helper.make_graph(self._nodes, self.name, self._inputs, infos, self._initializers)

    def save(self, folder: Path) -> Path:
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, self._initializers)
        domains = sorted({"", *(node.domain for node in self._nodes)})
        opsets = [helper.make_opsetid(domain, 1 if domain else OPSET) for domain in domains]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="tenon-zoo")
        model.ir_version = 8
        onnx.checker.check_model(model)
        path = folder / f"{self.name}.onnx"
        partial = path.with_suffix(".onnx.part")
        onnx.save(model, partial)
        partial.replace(path)
        return path

    # --- random parameters: scaled so that activations neither vanish nor explode over 50 layers -------------------
    def normal(self, shape, deviation, mean=0.0):
        return (mean + deviation * self.random.normal(size=shape)).astype(np.float32)

    def uniform(self, shape, low, high):
        return self.random.uniform(low, high, shape).astype(np.float32)

    # --- layers ------------------------------------------------------------------------------------------------------
    def activation(self, x, kind):
        if kind == "relu":
            return self.node("Relu", x)
        if kind == "relu6":
            return self.node("Clip", x, self.scalar(0), self.scalar(6))
        if kind == "silu":
            return self.node("Mul", x, self.node("Sigmoid", x))
        if kind == "hardswish":
            return self.node("HardSwish", x)
        if kind == "sigmoid":
            return self.node("Sigmoid", x)
        if kind == "hardsigmoid":
            return self.node("HardSigmoid", x, alpha=1 / 6, beta=0.5)
        if kind == "gelu":
            return self.gelu(x)
        return x

    def conv(self, x, channels_in, channels_out, kernel=1, stride=1, groups=1, act=None, norm=False, pad=None, gain=1):
        pad = kernel // 2 if pad is None else pad
        fan_in = channels_in // groups * kernel * kernel
        weights = self.normal((channels_out, channels_in // groups, kernel, kernel), gain * (1.6 / fan_in) ** 0.5)
        operands = [x, self.constant(weights, "weight")]
        if not norm:
            operands.append(self.constant(self.normal(channels_out, 0.05), "bias"))
        x = self.node("Conv", *operands, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=groups)
        return self.activation(self.batch_norm(x, channels_out) if norm else x, act)

    def shared_conv(self, channels_in, channels_out, kernel=(1, 1), deviation=None):
        """A convolution that stands in several places with the same weights: a function of the input."""
        fan_in = channels_in * kernel[0] * kernel[1]
        weights = self.normal((channels_out, channels_in, *kernel), deviation or (1.6 / fan_in) ** 0.5)
        operands = [self.constant(weights, "weight"), self.constant(self.normal(channels_out, 0.05), "bias")]
        pads = [kernel[0] // 2, kernel[1] // 2] * 2
        return lambda x, act=None: self.activation(self.node("Conv", x, *operands, kernel_shape=list(kernel), pads=pads), act)

    def batch_norm(self, x, channels):
        scale = self.uniform(channels, 0.8, 1.2)
        shift = self.uniform(channels, -0.1, 0.1)
        mean = self.uniform(channels, -0.1, 0.1)
        variance = self.uniform(channels, 0.8, 1.2)
        parameters = [self.constant(p, "norm") for p in (scale, shift, mean, variance)]
        return self.node("BatchNormalization", x, *parameters, epsilon=1e-5)

    def squeeze_excite(self, x, channels, squeezed, act, gate):
        """Scales each channel by what two small layers make of all channels' means."""
        y = self.node("GlobalAveragePool", x)
        y = self.conv(self.conv(y, channels, squeezed, act=act), squeezed, channels, act=gate)
        return self.node("Mul", x, y)

    def upsample(self, x, mode="nearest", factor=2):
        how = dict(coordinate_transformation_mode="asymmetric", nearest_mode="floor") if mode == "nearest" \
            else dict(coordinate_transformation_mode="half_pixel")
        return self.node("Resize", x, "", self.constant(np.array([1, 1, factor, factor], np.float32)), mode=mode, **how)

    def slice(self, x, start, end, axis, step=1):
        return self.node("Slice", x, self.ints(start), self.ints(end), self.ints(axis), self.ints(step))

    def linear(self, x, features_in, features_out, bias=True, gain=1):
        weights = self.normal((features_in, features_out), gain * features_in**-0.5)
        product = self.weight_only(x, weights) if self.block else self.node("MatMul", x, self.constant(weights, "weight"))
        return self.node("Add", product, self.constant(self.normal(features_out, 0.02), "bias")) if bias else product

    def weight_only(self, x, weights):
        depth, columns = weights.shape
        groups = weights.T.reshape(columns, depth // self.block, self.block)
        scales = np.abs(groups).max(axis=2, keepdims=True) / 7
        numbers = (np.rint(groups / scales) + 8).astype(np.uint8)
        packed = numbers[..., ::2] | numbers[..., 1::2] << 4
        operands = [self.constant(packed, "weight"), self.constant(scales.astype(np.float32).ravel(), "scale")]
        return self.node("MatMulNBits", x, *operands, domain="com.microsoft", K=depth, N=columns, bits=4, block_size=self.block)

    def classifier(self, x, channels, classes):
        """Global average pool and a fully connected layer."""
        x = self.node("Flatten", self.node("GlobalAveragePool", x), axis=1)
        weights = self.constant(self.normal((classes, channels), (1.6 / channels) ** 0.5), "weight")
        return self.node("Gemm", x, weights, self.constant(np.zeros(classes, np.float32), "bias"), transB=1)

    def layer_norm(self, x, features):
        scale, shift = self.normal(features, 0.05, mean=1.0), self.normal(features, 0.05)
        return self.node("LayerNormalization", x, self.constant(scale), self.constant(shift), axis=-1, epsilon=1e-6)

    def gelu(self, x):
        """The erf form that exporters write at this opset."""
        erf = self.node("Erf", self.node("Div", x, self.scalar(2**0.5)))
        return self.node("Mul", self.node("Mul", x, self.node("Add", erf, self.scalar(1))), self.scalar(0.5))

    def reshape(self, x, *shape):
        """0 keeps an extent: the batch, so that models can be reshaped to another one."""
        return self.node("Reshape", x, self.ints(*shape))

    def split_heads(self, x, tokens, features, heads, order):
        return self.node("Transpose", self.reshape(x, 0, tokens, heads, features // heads), perm=order)

    def attention(self, x, tokens, features, heads, mask=None):
        query, key, value = (self.linear(x, features, features) for _ in range(3))
        query = self.split_heads(query, tokens, features, heads, [0, 2, 1, 3])
        key = self.split_heads(key, tokens, features, heads, [0, 2, 3, 1])
        value = self.split_heads(value, tokens, features, heads, [0, 2, 1, 3])
        scores = self.node("Div", self.node("MatMul", query, key), self.scalar((features // heads) ** 0.5))
        if mask is not None:
            scores = self.node("Add", scores, mask)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        mixed = self.reshape(self.node("Transpose", mixed, perm=[0, 2, 1, 3]), 0, tokens, features)
        return self.linear(mixed, features, features)

    def feed_forward(self, x, features):
        return self.linear(self.gelu(self.linear(x, features, 4 * features)), 4 * features, features)
