# SPDX-License-Identifier: Apache-2.0
"""Writes demo.onnx from the weights of train_detector.py: opset 17, static shapes, raw heads, Model API metadata.

Needs the PyPI package onnx. Node by node with onnx.helper: names stay readable and no exporter's habits get in.
"""

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import detector
import scenes

# As OpenVINO's Model API writes and reads them. reverse_input_channels is meant for its callers, who hold BGR pictures as
# OpenCV reads them: the model was trained on RGB, hence YES. Readers that know what their frames hold (Tenon's input
# stage does) take from it that the model wants RGB. The model's own input is normalised, (x - mean) / scale.
METADATA = {
    "model_type": "YOLOX",
    "labels": " ".join(scenes.LABELS),
    "mean_values": "0 0 0",
    "scale_values": "255 255 255",
    "reverse_input_channels": "YES",
    "resize_type": "standard",
    "confidence_threshold": "0.4",  # best F1 on clips of the validation seeds
    "iou_threshold": "0.5",
}


class GraphWriter:
    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], {}

    def constant(self, name, value):
        self.constants[name] = numpy_helper.from_array(value, name)
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def layer(self, layer):
        inputs = list(layer.inputs)
        if layer.op == "conv":
            self._convolution(layer, inputs)
        elif layer.op == "relu":
            self.node("Relu", inputs, layer.name)
        elif layer.op == "add":
            self.node("Add", inputs, layer.name)
        elif layer.op == "concat":
            self.node("Concat", inputs, layer.name, axis=1)
        elif layer.op == "maxpool":
            k = layer.kernel
            self.node("MaxPool", inputs, layer.name, kernel_shape=[k, k], strides=[1, 1], pads=[k // 2] * 4)
        elif layer.op == "upsample":
            self._upsample(layer, inputs)
        else:
            raise ValueError(f"layer {layer.name}: no ONNX form for {layer.op}")

    def _convolution(self, layer, inputs):
        parts = [self.constant(f"{layer.name}.{p}", self.weights[f"{layer.name}.{p}"]) for p in ("weight", "bias")]
        k = layer.kernel
        self.node(
            "Conv", inputs + parts, layer.name,
            kernel_shape=[k, k], strides=[layer.stride] * 2, pads=[k // 2] * 4, dilations=[1, 1], group=1,
        )  # fmt: skip

    def _upsample(self, layer, inputs):
        scales = self.constant("twice", np.array([1, 1, 2, 2], np.float32))
        self.node(
            "Resize", inputs + ["", scales], layer.name,
            mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor",
        )  # fmt: skip

    def head(self, stride, box, objectness, kinds):
        """One level as [1, ROW, cells]; scores are probabilities, box values stay raw."""
        name = f"head{stride}"
        parts = [box] + [self.node("Sigmoid", [n], n + ".sigmoid") for n in (objectness, kinds)]
        level = self.node("Concat", parts, name + ".concat", axis=1)
        cells = (detector.INPUT_W // stride) * (detector.INPUT_H // stride)
        shape = self.constant(name + ".shape", np.array([1, detector.ROW, cells], np.int64))
        return self.node("Reshape", [level, shape], name + ".flat"), cells


def export(weights):
    layers, heads = detector.build()
    writer = GraphWriter(weights)
    for layer in layers:
        writer.layer(layer)
    levels = [writer.head(*head) for head in heads]
    rows = sum(cells for _, cells in levels)
    writer.node("Concat", [name for name, _ in levels], "heads", axis=2)
    writer.node("Transpose", ["heads"], "output", perm=[0, 2, 1])
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, detector.INPUT_H, detector.INPUT_W])
    output = helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, rows, detector.ROW])
    graph = helper.make_graph(writer.nodes, "tenon_demo_detector", [image], [output], list(writer.constants.values()))
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
        producer_name="tenon", doc_string="Shapes over moving backgrounds. SPDX-License-Identifier: Apache-2.0",
    )  # fmt: skip
    helper.set_model_props(model, {f"model_info {key}": value for key, value in METADATA.items()})
    onnx.checker.check_model(model, full_check=True)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", default="detector_weights.npz")
    parser.add_argument("--out", default="demo.onnx")
    options = parser.parse_args()
    model = export(dict(np.load(options.weights)))
    onnx.save(model, options.out)
    print(f"{options.out}: {model.ByteSize()} bytes, {len(model.graph.node)} nodes, {detector.cost()[0] / 1e9:.2f} GFLOP")


if __name__ == "__main__":
    main()
