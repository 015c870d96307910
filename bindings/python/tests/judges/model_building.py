# SPDX-License-Identifier: Apache-2.0
"""Models by functions of the operation sets, their nodes and ports, changes of graphs, passes, files."""
import os
import tempfile

import numpy as np

import openvino as ov
from openvino import opset13 as ops
from openvino.op import Constant, Parameter, Result
from openvino.passes import ConstantFolding, Manager, Matcher, MatcherPass, Serialize, WrapType
from openvino.utils import replace_node
from openvino.utils.types import get_dtype, get_element_type

F32 = {"INFERENCE_PRECISION_HINT": "f32"}
random = np.random.default_rng(3)


def run(outputs, parameters, *arrays):
    compiled = ov.compile_model(ov.Model(outputs, parameters, "m"), "CPU", F32)
    return [np.round(np.asarray(each, np.float64), 3).ravel()[:6].tolist() for each in compiled(list(arrays)).to_tuple()]


x = ops.parameter([1, 4, 6, 6], np.float32, name="x")
data = random.normal(size=(1, 4, 6, 6)).astype(np.float32)
kernel = random.normal(size=(4, 4, 3, 3)).astype(np.float32)
c = lambda *values: ops.constant(np.int64(values))
f = lambda *values: ops.constant(np.float32(values))
made = {
    "convolution": ops.convolution(x, kernel, [2, 2], [1, 1], [1, 1], [1, 1]),
    "auto_pad": ops.convolution(x, kernel, strides=[1, 1], pads_begin=[0, 0], pads_end=[0, 0], dilations=[1, 1], auto_pad="SAME_UPPER"),
    "deconvolution": ops.convolution_backprop_data(x, kernel, [2, 2]),
    "group": ops.group_convolution(x, kernel.reshape(4, 1, 4, 3, 3)[:, :, :1], [1, 1], [0, 0], [0, 0], [1, 1]),
    "max_pool": ops.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2]).output(0),
    "avg_pool": ops.avg_pool(x, [2, 2], [0, 0], [0, 0], [2, 2], True),
    "reshape": ops.reshape(x, [1, -1], special_zero=False),
    "transpose": ops.transpose(x, [0, 2, 3, 1]),
    "slice": ops.slice(x, [0, 0], [4, 3], [2, 2], [2, 3]),
    "strided_slice": ops.strided_slice(x, [0, 1], [0, 3], [1, 1], [1, 0], [1, 0]),
    "concat": ops.concat([x, x], axis=1),
    "gather": ops.gather(x, [2, 0], 1),
    "pad": ops.pad(x, [0, 0, 1, 1], [0, 0, 0, 0], "constant", np.float32(5)),
    "clamp": ops.clamp(x, -0.5, 0.5),
    "elu": ops.elu(x, 0.7),
    "gelu": ops.gelu(x, "tanh"),
    "swish": ops.swish(x),
    "softmax": ops.softmax(x, 1),
    "log_softmax": ops.log_softmax(x, axis=-1),
    "mvn": ops.mvn(x, [2, 3], True, 1e-5, "inside_sqrt"),
    "normalize": ops.normalize_l2(x, [1], 1e-6, "add"),
    "reduce": ops.reduce_mean(x, [1, 2], True),
    "interpolate": ops.interpolate(x, np.int64([3, 9]), "linear_onnx", "sizes", axes=[2, 3]),
    "depth_to_space": ops.depth_to_space(x, "blocks_first", 2),
    "select": ops.select(ops.greater(x, np.float32(0)), x, np.float32(-1)),
    "power": ops.power(ops.abs(x), np.float32(1.5)),
    "convert": ops.convert(ops.convert(x, "i32"), np.float32),
    "broadcast": ops.broadcast(f(1, 2, 3), [2, 3]),
    "one_hot": ops.one_hot(c(0, 2), 3, np.float32(1), np.float32(0), -1),
    "squeeze": ops.squeeze(ops.unsqueeze(x, [0]), [0]),
    "cumsum": ops.cum_sum(x, np.int64(3), exclusive=True),
    "roll": ops.roll(x, [1], [3]),
    "prelu": ops.prelu(x, f(0.1)),
    "hard_sigmoid": ops.hard_sigmoid(x, np.float32(0.2), np.float32(0.5)),
    "shape_of": ops.convert(ops.shape_of(x, "i32"), "f32"),
    "fake_quantize": ops.fake_quantize(x, np.float32(-1), np.float32(1), np.float32(-1), np.float32(1), 16),
    "einsum": ops.einsum([x, x], "abcd,abed->ace"),
}
for name, node in made.items():
    print(name, run([node], [x], data))
best = ops.topk(x, np.int64(2), axis=3, mode="max", sort="value", name="best")
print("topk", run([best.output(0), ops.convert(best.output(1), "f32").output(0)], [x], data), best.get_output_size(), best.get_axis(), best.get_mode())
parts = ops.split(x, 1, 2)
print("split", run(parts.outputs(), [x], data), ops.variadic_split(x, 1, [1, 3]).get_output_shape(1))

node = ops.matmul(x, x, False, True, name="product")
print(node, node.get_type_name(), node.get_transpose_b(), node.get_attributes(), node.friendly_name, node.shape, node.get_element_type() == ov.Type.f32)
print(node.get_input_size(), node.input_value(0).get_node().friendly_name, node.input(1).get_source_output().get_index(), node.get_output_partial_shape(0))
print(len(x.output(0).get_target_inputs()) > 10, node.type_info.name, node.get_type_info().version_id, [each.get_shape() for each in node.inputs()])
node.set_friendly_name("renamed")
node.rt_info["key"] = "value"
print(node.get_friendly_name(), node.rt_info["key"] == "value", node.output(0).get_names(), x)
print(ops.subtract(x, x) == node, node == node, isinstance(x, Parameter), isinstance(ops.constant(1), Constant), isinstance(ops.result(x), Result))
for value, kind in ((1, None), (1.5, None), ([1, 2], np.float32), (np.ones((2, 2), np.float16), None), (True, None), ([1, 2], ov.Type.i8)):
    constant = ops.constant(value, dtype=kind)
    print(constant.get_element_type().get_type_name(), constant.shape, constant.data.tolist(), constant.get_vector().tolist())
print(Constant(ov.Type.f32, ov.Shape([2]), [1, 2]).data.tolist(), Constant(ov.Type.i64, ov.Shape([3]), [7]).data.tolist(), get_element_type(np.int32) == ov.Type.i32, get_dtype(ov.Type.f16))

# A graph is changed: Relu becomes Tanh, with a pass and by hand.
a = ops.parameter([2], np.float32, name="a")
a.output(0).set_names({"a"})
model = ov.Model([ops.relu(ops.add(a, f(1, 2)), name="last")], [a], "change")
relu = [each for each in model.get_ordered_ops() if each.get_type_name() == "Relu"][0]
tanh = ops.tanh(relu.input_value(0))
replace_node(relu, tanh)
print([each.get_type_name() for each in model.get_ordered_ops()], len(model.get_ops()), len(model.get_parameters()), len(model.get_results()))


class Back(MatcherPass):
    def __init__(self):
        super().__init__()
        self.register_matcher(Matcher(WrapType("opset13.Tanh"), "Back"), self.change)

    def change(self, matcher):
        root = matcher.get_match_root()
        replace_node(root, ops.relu(root.input_value(0)))
        return True


manager = Manager()
manager.register_pass(Back())
manager.register_pass(ConstantFolding())
manager.run_passes(model)
print([each.get_type_name() for each in model.get_ordered_ops()])
model.add_outputs(model.get_ordered_ops()[2].output(0))
print(len(model.outputs), len(model.clone().outputs), model.get_result_index(model.output(1)), model.get_parameter_index(a))

model.set_rt_info("yes", "flag")
model.set_rt_info("cat dog", ["model_info", "labels"])
print(model.has_rt_info("flag"), model.get_rt_info("flag").value, model.get_rt_info(["model_info", "labels"]).astype(str), model.has_rt_info(["model_info", "none"]))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "m.xml")
    ov.save_model(model, path, compress_to_fp16=False)
    again = ov.Core().read_model(path)
    print(again.get_rt_info("flag").value, [each.get_any_name() for each in again.inputs] == [each.get_any_name() for each in model.inputs], len(again.outputs))
    Serialize(path, os.path.join(folder, "n.bin"))
    ov.serialize(model, os.path.join(folder, "o.xml"), os.path.join(folder, "o.bin"))
    print(sorted(os.listdir(folder)), ov.compile_model(os.path.join(folder, "o.xml"), "CPU", F32)([np.float32([1, -5])])[0].tolist())
