# SPDX-License-Identifier: Apache-2.0
"""What the families of exporters share: the picture, weights, the probe of a model's input, and what is written down of each export."""
import os
import pathlib

os.environ.update(YOLO_OFFLINE="true", HF_HUB_OFFLINE="1", YOLO_VERBOSE="False", YOLO_AUTOINSTALL="false")
import numpy as np
import onnx
import torch
from onnx import TensorProto, helper
from PIL import Image, ImageFilter

SIZE = 128
LABELS = [f"label {i}" for i in range(6)]


def picture(path, width, height):
    """Soft shapes of many colours: an error in order, scale or place changes results, and the filter of a resize does not."""
    rng = np.random.default_rng(7)
    grid = np.linspace(0, 255, width, dtype=np.uint8)[None, :, None] * np.ones((height, 1, 3), np.uint8)
    grid[..., 1] = np.linspace(255, 0, height, dtype=np.uint8)[:, None]
    for _ in range(12):
        x, y = rng.integers(0, width - 64), rng.integers(0, height - 64)
        grid[y : y + rng.integers(32, 192), x : x + rng.integers(32, 192)] = rng.integers(0, 256, 3)
    Image.fromarray(grid).filter(ImageFilter.GaussianBlur(16)).save(path)
    return path


def varied(model, seed, gain=1.6):
    """Weights whose results differ from place to place: those of an untrained model are nearly all the same."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1:
                fan = parameter[0].numel()
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * (gain / fan) ** 0.5)
            elif name.endswith("bias"):
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return model.eval()


def let_each_class_win(model, logits):
    """Random weights give the whole picture to one class or two. Here all have the same mean over it, by the bias of the last layer that gives them.
    @param logits  [1,classes,h,w], what the model makes of the picture."""
    last = [one for one in model.modules() if isinstance(one, torch.nn.Conv2d) and one.out_channels == logits.shape[1] and one.bias is not None][-1]
    with torch.no_grad():
        last.bias -= logits.mean((0, 2, 3))


def add_probe(said, tensor, properties=()):
    """Writes probe.onnx beside the model, which gives back what it is fed: the means of blocks of the picture, and a 0 to compare with.
    What untrained models find says little of their input. @param tensor  What the exporter's program feeds its model."""
    block, shape = 8, list(tensor.shape)
    path = pathlib.Path(said["model"]).with_name("probe.onnx")
    nodes = [helper.make_node("AveragePool", ["pixels"], ["means"], kernel_shape=[block, block], strides=[block, block]),
             helper.make_node("Flatten", ["means"], ["row"]), helper.make_node("Concat", ["row", "zero"], ["values"], axis=1)]
    graph = helper.make_graph(nodes, "probe", [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("values", TensorProto.FLOAT, [1, None])],
                              [helper.make_tensor("zero", TensorProto.FLOAT, [1, 1], [0.0])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    for key, value in properties:
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    onnx.save(model, path)
    means = torch.nn.functional.avg_pool2d(tensor.float().cpu(), block)
    said["probe"], said["prepared"] = str(path), means.flatten().tolist()


def to_onnx(model, path, inputs, names, dynamo=False, dynamic=False):
    """As users export: the exporter's own default opset. @param dynamic  Batch, height and width are open."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    open_extents = {}
    if dynamic and dynamo:
        open_extents = {"dynamic_shapes": ({0: torch.export.Dim.DYNAMIC, 2: torch.export.Dim.DYNAMIC, 3: torch.export.Dim.DYNAMIC},)}
    elif dynamic:
        open_extents = {"dynamic_axes": {"pixel_values": {0: "batch", 2: "height", 3: "width"}}}
    with torch.no_grad():
        torch.onnx.export(model, inputs, str(path), input_names=["pixel_values"], output_names=names, dynamo=dynamo, **open_extents)
    return str(path)


def add_runs(said, tensor):
    """What ONNX Runtime makes of the file, or OpenVINO of an IR, for the exporter's own input, in runs.npz beside the model."""
    given = tensor.float().cpu().numpy()
    if said["model"].endswith(".xml"):
        import openvino

        outputs = openvino.Core().compile_model(said["model"], "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([given]).to_tuple()
    else:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(said["model"], options, providers=["CPUExecutionProvider"])
        outputs = session.run(None, {session.get_inputs()[0].name: given})
    path = pathlib.Path(said["model"]).with_name("runs.npz")
    np.savez(path, input=given, **{f"output_{i}": value for i, value in enumerate(outputs)})
    said["runs"] = str(path)


def add_maps(said, **maps):
    """Arrays of the size of the picture, in maps.npz beside the model: masks [n,h,w] of the boxes, classes [h,w], depth [h,w]."""
    path = pathlib.Path(said["model"]).with_name("maps.npz")
    np.savez_compressed(path, **maps)
    said["maps"] = str(path)


def add_boxes(said, boxes, scores, classes):
    said["boxes"], said["scores"] = np.asarray(boxes, float).tolist(), np.asarray(scores, float).tolist()
    said["classes"] = np.asarray(classes).astype(int).tolist()


class Family:
    """Exports one after the other; what an exporter itself cannot do is noted with its reason."""

    def __init__(self, name, folder, wanted=(), after=lambda: None):
        """@param wanted  Beginnings of NAME_CASE; none: all. @param after  Called after each export."""
        self.name, self.folder, self.wanted, self.after, self.found, self.refused = name, folder, wanted, after, {}, {}

    def add(self, case, make):
        """@param make  Takes a folder for the files, and gives what is said of the export."""
        place = self.folder / f"{self.name}_{case}"
        if self.wanted and not any(place.name.startswith(one) for one in self.wanted):
            return
        place.mkdir(exist_ok=True)
        try:
            self.found[place.name] = make(place)
            print(f"{place.name}: exported", flush=True)
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            self.refused[place.name] = f"{type(error).__name__}: {lines[0][:200]}"
            print(f"{place.name}: not exported: {self.refused[place.name]}", flush=True)
            if os.environ.get("EXPORTERS_DEBUG"):
                import traceback

                traceback.print_exc()
        self.after()
