# SPDX-License-Identifier: Apache-2.0
"""Pre- and post-processing by OpenVINO's PrePostProcessor on its CPU plugin: the judge of runtime/preprocess.

usage: preprocess_cases.py FOLDER    writes FOLDER/index.txt and one binary file per tensor

A case is a list of lines that this script and preprocess_oracle_test.cpp both carry out, each on its own library:
  model TYPE SHAPE                 a model whose output is its input
  tensor|step|model_layout|...     one call of the API
"""
import os
import sys

import numpy as np
import openvino as ov
from openvino import opset13 as ops
from openvino.preprocess import ColorFormat, PaddingMode, PrePostProcessor, ResizeAlgorithm

OUT = sys.argv[1]
os.makedirs(OUT, exist_ok=True)
rng = np.random.default_rng(7)
core = ov.Core()
core.set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32"})
index = []
TYPES = {"f32": ov.Type.f32, "f16": ov.Type.f16, "u8": ov.Type.u8, "i32": ov.Type.i32, "i8": ov.Type.i8, "i64": ov.Type.i64}
NAMES = {"float32": "f32", "float16": "f16", "uint8": "u8", "int32": "i32", "int8": "i8", "int64": "i64"}


def save(name, array):
    np.ascontiguousarray(array).tofile(os.path.join(OUT, name))
    return f"{NAMES[str(array.dtype)]} {','.join(map(str, array.shape))} {name}"


def shape_of(text):
    return ov.PartialShape("[" + text + "]")


def ints(text):
    return [int(v) for v in text.split(",")]


def floats(text):
    return [float(v) for v in text.split(",")]


def make_model(kind, shape):
    parameter = ops.parameter(shape_of(shape), TYPES[kind], name="image")
    parameter.output(0).set_names({"image"})
    out = ops.add(parameter, ops.constant(np.array(0, TYPES[kind].to_dtype())))
    out.set_friendly_name("sum")
    out.output(0).set_names({"sum"})
    return ov.Model([ops.result(out)], [parameter], "m")


def apply(p, line):
    word, *a = line.split()
    tensor, steps, post = p.input().tensor(), p.input().preprocess(), p.output().postprocess()
    if word == "type":
        tensor.set_element_type(TYPES[a[0]])
    elif word == "layout":
        tensor.set_layout(ov.Layout(a[0]))
    elif word == "color":
        tensor.set_color_format(getattr(ColorFormat, a[0]), a[1:])
    elif word == "spatial":
        tensor.set_spatial_static_shape(int(a[0]), int(a[1]))
    elif word == "spatial_dynamic":
        tensor.set_spatial_dynamic_shape()
    elif word == "shape":
        tensor.set_shape(shape_of(a[0]))
    elif word == "memory":
        tensor.set_memory_type(a[0])
    elif word == "model_layout":
        p.input().model().set_layout(ov.Layout(a[0]))
    elif word == "convert_color":
        steps.convert_color(getattr(ColorFormat, a[0]))
    elif word == "convert_type":
        steps.convert_element_type(TYPES[a[0]]) if a else steps.convert_element_type()
    elif word == "convert_layout":
        steps.convert_layout(ov.Layout(a[0]))
    elif word == "permute":
        steps.convert_layout(ints(a[0]))
    elif word == "mean":
        v = floats(a[0])
        steps.mean(v if len(v) > 1 else v[0])
    elif word == "scale":
        v = floats(a[0])
        steps.scale(v if len(v) > 1 else v[0])
    elif word == "pad":
        steps.pad(ints(a[0]), ints(a[1]), float(a[2]), getattr(PaddingMode, a[3]))
    elif word == "crop":
        steps.crop(ints(a[0]), ints(a[1]))
    elif word == "resize":
        alg = getattr(ResizeAlgorithm, "RESIZE_" + a[0])
        steps.resize(alg, int(a[1]), int(a[2])) if len(a) > 1 else steps.resize(alg)
    elif word == "reverse":
        steps.reverse_channels()
    elif word == "out_type":
        p.output().tensor().set_element_type(TYPES[a[0]])
    elif word == "out_layout":
        p.output().tensor().set_layout(ov.Layout(a[0]))
    elif word == "out_model_layout":
        p.output().model().set_layout(ov.Layout(a[0]))
    elif word == "post_type":
        post.convert_element_type(TYPES[a[0]]) if a else post.convert_element_type()
    elif word == "post_layout":
        post.convert_layout(ov.Layout(a[0]))
    elif word == "post_permute":
        post.convert_layout(ints(a[0]))
    elif word == "input":
        p.input(int(a[0])) if a[0].isdigit() else p.input(a[0])
    elif word == "output":
        p.output(int(a[0])) if a[0].isdigit() else p.output(a[0])
    elif word == "build":
        p.build()
    else:
        raise RuntimeError("the script does not know " + line)


def picture(shape, kind):
    """Smooth waves with noise on top and some saturated spots, as pictures have."""
    n, h, w, c = shape
    y, x, k = np.mgrid[0:h, 0:w, 0:c]
    value = 128 + 90 * np.sin(x / 5.0 + k) * np.cos(y / 7.0 - k) + rng.normal(0, 12, (n, h, w, c))
    value[rng.random(value.shape) < 0.05] = 255
    value[rng.random(value.shape) < 0.05] = 0
    value = np.clip(np.round(value), 0, 255)
    return value.astype(TYPES[kind].to_dtype())


def data_for(shape, kind):
    if len(shape) == 4:
        return picture(shape, kind)
    return picture((1, *shape), kind)[0] if len(shape) == 3 else rng.integers(0, 255, shape).astype(TYPES[kind].to_dtype())


def case(label, lines, tolerance, extents=()):
    """tolerance: absolute for integers (steps), relative to 255 for reals. extents: of dynamic H and W."""
    kind, shape = lines[0].split()[1:]
    model = make_model(kind, shape)
    p = PrePostProcessor(model)
    for line in lines[1:]:
        apply(p, line)
    model = p.build()
    feed = []
    for port in model.inputs:
        partial, at = port.get_partial_shape(), []
        halved = len(model.inputs) > 1 and len(feed) > 0
        spare = list(extents)
        for d in partial:
            extent = d.get_length() if d.is_static else spare.pop(0) // (2 if halved else 1)
            at.append(extent)
        feed.append(data_for(tuple(at), port.get_element_type().get_type_name()))
    result = core.compile_model(model, "CPU")(feed)[0]
    # The plugin computes f16 inputs and results in types of its choice; the port's type counts.
    number = len(index)
    text = [f"case {label}", f"tolerance {tolerance}"] + [f"do {line}" for line in lines]
    for i, array in enumerate(feed):
        names = sorted(model.inputs[i].get_names())
        text.append("input " + save(f"{number}_in{i}.bin", array) + " " + (names[0] if names else "-"))
    text.append("output " + save(f"{number}_out.bin", np.array(result)))
    index.append("\n".join(text))


def error(label, lines, message):
    """Both libraries must refuse; `message` must be part of OpenVINO's message."""
    kind, shape = lines[0].split()[1:]
    p = PrePostProcessor(make_model(kind, shape))
    try:
        for line in lines[1:]:
            apply(p, line)
        p.build()
    except Exception as failure:
        if message not in str(failure):
            raise RuntimeError(f"{label}: OpenVINO says {failure}")
        index.append("\n".join([f"case {label}"] + [f"do {line}" for line in lines] + [f"throws {message}"]))
        return
    raise RuntimeError(f"{label}: OpenVINO did not refuse")


U8, F32, F16 = 1.01, 1e-4, 2e-3
RESIZE = ["LINEAR", "CUBIC", "NEAREST", "BILINEAR_PILLOW", "BICUBIC_PILLOW"]
YUV = ["NV12_SINGLE_PLANE", "NV12_TWO_PLANES", "I420_SINGLE_PLANE", "I420_THREE_PLANES"]
SUB = {"NV12_TWO_PLANES": " y uv", "I420_THREE_PLANES": " y u v"}


def colours():
    """Each format to each target it has, in u8 and in f32, without and with each resize."""
    for source in YUV + ["RGB", "BGR", "RGBX", "BGRX", "GRAY"]:
        targets = ["RGB", "BGR"] if source in ("RGBX", "BGRX") else ["GRAY"] if source == "GRAY" else ["RGB", "BGR", "GRAY"]
        for target in targets:
            channels = 1 if target == "GRAY" else 3
            head = [f"color {source}{SUB.get(source, '')}", "model_layout NCHW"]
            # OpenVINO makes grey of f16 colours by a convolution with f32 weights, which it then refuses.
            for kind in ["u8", "f32"] + ["f16"] * (target != "GRAY" or source not in ("RGB", "BGR")):
                tolerance = F16 if kind == "f16" else F32
                case(f"{source} {target} {kind}", [f"model f32 1,{channels},32,48", f"type {kind}"] + head + [f"convert_color {target}"],
                     tolerance)
            case(f"{source} {target} u8 out", [f"model u8 1,{channels},32,48", "type u8"] + head + [f"convert_color {target}"], U8)
            # Grey of whole numbers may be half-way between two: the order of the sum decides, and that is the plugin's.
            grey = U8 / 255 if target == "GRAY" and source in ("RGB", "BGR") else F32
            for resize in RESIZE:
                case(f"{source} {target} {resize} u8", [f"model f32 1,{channels},20,30", "type u8", "spatial 32 48"] + head +
                     [f"convert_color {target}", "convert_type f32", f"resize {resize}"], grey)
                case(f"{source} {target} {resize} f32 first",
                     [f"model f32 1,{channels},20,30", "type u8", "spatial 32 48"] + head +
                     ["convert_type f32", f"convert_color {target}", f"resize {resize}"], F32)


def resizes():
    for layout, model, shape in [("NHWC", "NCHW", "1,3,20,30"), ("NCHW", "NCHW", "1,3,20,30"), ("NHWC", "NHWC", "1,20,30,3"), ("NCHW", "NHWC", "1,20,30,3")]:
        for resize in RESIZE:
            for kind in ["f32", "u8"]:
                for height, width in [(33, 47), (11, 13), (20, 30), (8, 70)]:
                    extra = ["convert_type f32"] if kind == "u8" else []
                    case(f"{resize} {layout}->{model} {kind} {height}x{width}",
                         [f"model f32 {shape}", f"type {kind}", f"layout {layout}", f"model_layout {model}", f"spatial {height} {width}"] + extra +
                         [f"resize {resize}", "mean 103.5,116.3,123.7", "scale 58.4,57.1,57.4"], F32)
            case(f"{resize} {layout}->{model} dynamic", [f"model f32 {shape}", "type u8", f"layout {layout}", f"model_layout {model}", "spatial_dynamic",
                 "convert_type f32", f"resize {resize}", "scale 255"], F32, (41, 27))
    for resize in RESIZE:
        case(f"{resize} on u8", ["model u8 1,3,20,30", "layout NHWC", "model_layout NCHW", "spatial 33 47", f"resize {resize}"], U8)
        case(f"{resize} given size, then crop", ["model f32 1,3,16,16", "type u8", "layout NHWC", "model_layout NCHW", "spatial 33 47", "convert_type f32",
             f"resize {resize} 20 24", "crop 0,2,4,0 1,18,20,3"], F32)
    for source in YUV:
        case(f"{source} dynamic", ["model f32 1,3,20,30", "type u8", f"color {source}{SUB.get(source, '')}", "spatial_dynamic", "model_layout NCHW",
             "convert_color BGR", "convert_type f32", "resize LINEAR", "mean 1,2,3"], F32, (48, 62))
        case(f"{source} batch", ["model f32 2,3,16,24", "type u8", f"color {source}{SUB.get(source, '')}", "model_layout NCHW", "convert_color RGB", "convert_type f32", "mean 5"],
             F32)


def rest():
    case("nothing", ["model f32 1,3,8,8"], F32)
    case("type only", ["model f32 1,3,8,8", "type u8"], F32)
    case("type i32", ["model i32 1,3,8,8", "type u8", "convert_type i32"], 0.01)
    case("f32 to u8 truncates", ["model u8 1,3,8,8", "type f32", "convert_type f32"], 0.01)
    case("layout only", ["model f32 1,3,8,10", "layout NHWC", "model_layout NCHW"], F32)
    case("explicit layout", ["model f32 1,3,8,10", "layout NHWC", "convert_layout NCHW"], F32)
    case("layout by axes", ["model f32 1,3,8,10", "layout NHWC", "permute 0,3,1,2"], F32)
    case("axes without layout", ["model f32 1,3,8,10", "permute 0,3,1,2", "permute 0,1,3,2"], F32)
    case("HWC to NCHW", ["model f32 1,3,8,10", "layout HWC", "model_layout NCHW", "type u8"], F32)
    case("partial layout", ["model f32 1,3,8,10", "layout N...C", "model_layout NC..."], F32)
    case("unnamed axes", ["model f32 1,3,8,10", "layout ???C", "model_layout ?C??"], F32)
    case("reverse NCHW", ["model f32 1,3,8,10", "layout NCHW", "reverse"], F32)
    case("reverse NHWC u8", ["model f32 1,3,8,10", "type u8", "layout NHWC", "model_layout NCHW", "reverse"], F32)
    case("reverse dynamic channels", ["model f32 1,?,8,10", "layout NCHW", "reverse"], F32, (3,))
    case("mean scale", ["model f32 1,3,8,10", "layout NCHW", "mean 1.5", "scale 2.5", "mean 1,2,3", "scale 4,5,6"], F32)
    case("scale before mean", ["model f32 1,3,8,10", "type u8", "layout NHWC", "model_layout NCHW", "convert_type f32", "scale 255", "mean 0.4,0.5,0.6",
         "scale 0.2,0.3,0.4"], F32)
    case("mean in f16", ["model f16 1,3,8,10", "type u8", "layout NHWC", "model_layout NCHW", "convert_type f16", "mean 100,110,120", "scale 64"], F16)
    for mode in ["CONSTANT", "REFLECT", "SYMMETRIC"]:  # Its Python lacks EDGE.
        case(f"pad {mode}", ["model f32 1,3,12,14", "layout NCHW", "shape 1,3,8,9", f"pad 0,0,1,2 0,0,3,3 7.5 {mode}"], F32)
        case(f"pad {mode} NHWC u8", ["model f32 1,3,12,14", "type u8", "layout NHWC", "model_layout NCHW", "shape 1,8,9,3", "convert_type f32", f"pad 0,1,2,0 0,3,3,0 7 {mode}"], F32)
    case("letterbox", ["model f32 1,3,32,32", "type u8", "layout NHWC", "model_layout NCHW", "shape 1,36,64,3", "convert_type f32", "resize LINEAR 18 32",
         "pad 0,7,0,0 0,7,0,0 114 CONSTANT", "scale 255", "reverse"], F32)
    case("crop", ["model f32 1,3,8,8", "layout NCHW", "shape 1,3,20,30", "crop 0,0,5,-12 1,3,13,-4"], F32)
    case("crop then colour", ["model f32 1,3,8,8", "type u8", "color RGB", "shape 1,20,30,3", "model_layout NCHW", "crop 0,4,5,0 1,12,13,3",
         "convert_color BGR", "convert_type f32", "mean 1,2,3"], F32)
    case("crop then resize", ["model f32 1,3,16,16", "type u8", "color BGR", "shape 1,40,30,3", "model_layout NCHW", "crop 0,4,5,0 1,36,29,3",
         "convert_color RGB", "convert_type f32", "resize LINEAR", "scale 255"], F32)
    case("memory type", ["model f32 1,3,8,8", "type u8", "color NV12_TWO_PLANES a b", "memory GPU_SURFACE", "convert_color RGB", "model_layout NCHW"], F32)
    case("post type", ["model f32 1,3,8,10", "out_type f16"], F16)
    case("post i32", ["model f32 1,3,8,10", "post_type i32"], 0.01)
    case("post layout", ["model f32 1,3,8,10", "out_model_layout NCHW", "out_layout NHWC"], F32)
    case("post explicit", ["model f32 1,3,8,10", "out_model_layout NCHW", "post_layout NHWC", "post_type f16"], F16)
    case("post axes", ["model f32 1,3,8,10", "post_permute 0,2,3,1"], F32)
    case("post default type", ["model f32 1,3,8,10", "out_type i32", "post_type"], 0.01)
    case("all", ["model f32 1,3,24,32", "type u8", "color NV12_TWO_PLANES y uv", "spatial 48 60", "convert_color BGR", "convert_type f32", "resize LINEAR",
         "mean 10,20,30", "scale 50,60,70", "model_layout NCHW", "out_model_layout NCHW", "out_layout NHWC", "out_type f16"], 3e-2)


def errors():
    m, u8 = "model f32 1,3,8,8", "type u8"
    for source in YUV:
        error(f"{source} to RGBX", [m, u8, f"color {source}", "convert_color RGBX"], "Unsupported conversion from " + source[:4] + " to 'RGBX' format")
        if source in SUB:
            error(f"{source} unconverted", [m, u8, f"color {source}"], "Multiple plane input is not allowed as model input")
            for step, text in [("resize LINEAR", "Can't resize multi-plane input"), ("mean 1", "Can't apply scale preprocessing for multi-plane input"),
                               ("convert_layout NCHW", "Can't convert layout for multi-plane input"), ("crop 0 1", "Can't crop multi-plane input"),
                               ("pad 0 1 0 CONSTANT", "Can't pad multi-plane input"), ("reverse", "can't reverse channels for multi-plane inputs")]:
                error(f"{source} {step}", [m, u8, f"color {source}", step], text)
            error(f"{source} sub-names", [m, f"color {source} y"], "Number of sub-names (1) shall match with number of planes")
            error(f"{source} odd", [m, u8, f"color {source}", "spatial 9 9", "convert_color RGB", "model_layout NCHW"], "Y shape is inconsistent with")
        else:
            error(f"{source} unconverted", [m, u8, f"color {source}"], "model shall have RGB/BGR/GRAY color format")
            error(f"{source} sub-names", [m, f"color {source} y"], "Plane names are not allowed for single plane color format")
    for source, target in [("RGB", "RGBX"), ("GRAY", "RGB"), ("RGBX", "GRAY"), ("BGRX", "RGBX"), ("RGB", "NV12_SINGLE_PLANE"), ("UNDEFINED", "BGR")]:
        shown = {"UNDEFINED": "Unknown"}.get(source, source)
        error(f"{source} to {target}", [m, u8, f"color {source}", f"convert_color {target}"], f"Source color format '{shown}' is not convertible to")
    error("RGBX unconverted", [m, "color RGBX"], "model shall have RGB/BGR/GRAY color format")
    error("mean without layout", [m, "mean 1,2,3"], "doesn't have `channels` dimension")
    error("mean count", [m, "layout NCHW", "mean 1,2"], "Number of channels and mean/values size mismatch: Channels = 3, mean/scale = 2")
    error("mean u8", [m, u8, "mean 1"], "Mean preprocessing can be applied to 'float' inputs")
    error("pad u8", [m, u8, "pad 0,0,1,1 0,0,1,1 0 CONSTANT"], "Pad preprocessing can be applied to 'float' inputs")
    error("scale u8", [m, u8, "scale 1"], "Scale preprocessing can be applied to 'float' inputs")
    error("resize without layout", [m, "resize LINEAR"], "Can't add resize for layout without W/H specified")
    error("spatial without layout", [m, "spatial 2 2"], "doesn't have `height` dimension")
    error("shape and spatial", [m, "shape 1,3,4,4", "spatial 2 2"], "'set_spatial_static_shape' and 'set_shape/set_from' shall not be used together")
    error("shape and dynamic", [m, "shape 1,3,4,4", "spatial_dynamic"], "'set_spatial_dynamic_shape' and 'set_shape/set_from' shall not be used together")
    error("spatial and shape", [m, "spatial 2 2", "shape 1,3,4,4"], "shall not be used together")
    error("shape", [m, "shape 1,3,4,4"], "after preprocessing is not aligned with original parameter's shape: [1,3,8,8]")
    error("resize to another size", [m, "layout NCHW", "resize LINEAR 4 4"], "is not aligned with original parameter's shape")
    error("reverse without layout", [m, "reverse"], "doesn't have `channels` dimension")
    error("gray for three", [m, "color RGB", "layout NHWC", "convert_color GRAY"], "is not aligned with original parameter's shape")
    error("input index", [m, "input 3"], "doesn't have input with index 3. Total number of inputs is 1")
    error("input name", [m, "input nope"], "Model doesn't have input with name nope")
    error("output index", [m, "output 3"], "with index 3. Total number of")
    error("output name", [m, "output nope"], "Model doesn't have output with name nope")
    error("layout twice", [m, "layout NCNC"], "is defined multiple times in layout")
    error("layout character", [m, "layout N-HW"], "Only english letters, digits and _ is allowed")
    error("layout names", [m, "layout NCXY", "model_layout NCHW"], "is not found in layout: [N,C,X,Y]")
    error("layout ranks", [m, "layout NCH", "model_layout NCHWD"], "is inconsistent with input shape [1,3,8,8]")
    error("model layout rank", [m, "model_layout NCH"], "layout [N,C,H] is not compatible with shape [1,3,8,8]")
    error("output layout rank", [m, "out_model_layout NCH"], "layout [N,C,H] is not compatible with shape [1,3,8,8]")
    error("axis outside", [m, "permute 0,3,1,7"], "is out of bounds")
    error("axis twice", [m, "permute 0,3,1,1"], "is used more than once in convert arguments")
    error("crop lists", [m, "crop 0,3,1 1"], "begin/end coordinates must have the same size. Begin size=3, end size=1")
    error("pad lists", [m, "pad 0,3,1 1 0 CONSTANT"], "length of pads_begin mismatches with rank of input, expect 4, but got 3")
    error("post without type", [m, "post_type"], "Can't convert to dynamic/unknown element type")
    error("dynamic model size", ["model f32 1,3,?,8", "layout NCHW", "spatial 4 4", "resize LINEAR"], "Dynamic resize: Model height dimension shall be static")
    error("dynamic rank", [m, "shape ...", "layout NHWC", "resize CUBIC", "model_layout NCHW"], "Resize operation is not supported for fully dynamic shape")
    error("build twice", [m, u8, "build"], "Parameter to replace has been replaced by previous steps of preprocessing")
    error("sub-name taken", [m, u8, "color NV12_TWO_PLANES y uv", "convert_color RGB", "model_layout NCHW", "build"], "name already exists in model")


for group in (colours, resizes, rest, errors):
    group()
with open(os.path.join(OUT, "index.txt"), "w") as file:
    file.write("\n".join(index) + "\n")
print(len(index), "cases")
