# SPDX-License-Identifier: Apache-2.0
"""Compares what the CPU says that it executes of a model with what an installed OpenVINO says of the same model.

check_runtime_model.py <runtime_model_dump>
Both are written as IR: the keys must be OpenVINO's and the documented ones of Tenon's own, values must have OpenVINO's
form, and both must name the same nodes, inputs and outputs. Exits with 77 if the openvino wheel is not installed.
"""
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

SKIPPED = 77
OURS = {"bytesRead", "bytesWritten", "weightBytes", "multiplyAdds", "foldedLayersNames", "execTimeNs"}


def make_model(ov):
    import numpy
    from openvino import opset13 as op
    random = numpy.random.default_rng(1)

    def weights(*shape):
        return op.constant((random.standard_normal(shape) * 0.1).astype(numpy.float32))

    x = op.parameter([1, 16, 28, 28], ov.Type.f32, name="x")
    first = op.relu(op.convolution(x, weights(32, 16, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1], name="first"), name="relu")
    second = op.convolution(first, weights(32, 32, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1], name="second")
    total = op.add(second, first, name="total")
    pooled = op.reduce_mean(total, op.constant([2, 3]), False, name="pooled")
    product = op.matmul(pooled, weights(32, 10), False, False, name="product")
    return ov.Model([op.result(op.softmax(product, 1, name="soft"), name="out")], [x], "small")


def layers(path):
    found = []
    for layer in ElementTree.parse(path).getroot().find("layers"):
        data = layer.find("data")
        found.append((layer.get("name"), layer.get("type"), {} if data is None else dict(data.attrib)))
    return found


def steps(path):
    """Those with run-time information; OpenVINO gives weights as steps, too, Tenon as bytes of their readers."""
    return [(name, kind, data) for name, kind, data in layers(path)
            if "execOrder" in data and kind not in ("Const", "Input", "Parameter", "Output", "Result")]


def fail(text):
    print(text)
    sys.exit(1)


def check_form(name, data):
    order, time = data["execOrder"], data["execTimeMcs"]
    if not order.isdigit() or not (time.isdigit() or time == "not_executed"):
        fail(f"{name}: execOrder {order}, execTimeMcs {time}")
    for key in ("bytesRead", "bytesWritten", "weightBytes"):
        if not data[key].isdigit():
            fail(f"{name}: {key} is {data[key]}")


def main():
    try:
        import openvino as ov
    except ImportError:
        print("the openvino wheel is not installed")
        return SKIPPED
    import numpy
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        model = make_model(ov)
        ov.save_model(model, folder / "model.xml", compress_to_fp16=False)
        compiled = ov.Core().compile_model(model, "CPU", {"PERF_COUNT": True})
        compiled(numpy.zeros((1, 16, 28, 28), numpy.float32))
        ov.serialize(compiled.get_runtime_model(), folder / "theirs.xml")
        subprocess.run([sys.argv[1], folder / "model.xml", folder / "ours.xml"], check=True)
        theirs, ours = steps(folder / "theirs.xml"), steps(folder / "ours.xml")
        all_ours = {name: (kind, data) for name, kind, data in layers(folder / "ours.xml")}
    wanted = set.intersection(*(set(data) for _, _, data in theirs))
    for name, kind, data in ours:
        if missing := wanted - set(data):
            fail(f"{name} ({kind}) lacks OpenVINO's {sorted(missing)}")
        if unknown := set(data) - wanted - OURS:
            fail(f"{name} ({kind}) has keys that are not documented: {sorted(unknown)}")
        check_form(name, data)
        if data["execTimeMcs"] == "not_executed" and data["primitiveType"] != "none":
            fail(f"{name} ({kind}) was not measured")

    def originals(found):
        return {name for _, _, data in found for name in data["originalLayersNames"].split(",") if name}
    # Each may name more: a view is a step of OpenVINO's, and a result that is copied one of Tenon's.
    if missing := {"first", "relu", "second", "total", "product", "soft"} - originals(ours) & originals(theirs):
        fail(f"not in both: {sorted(missing)}")
    for name in ("x", "out"):
        if name not in all_ours:
            fail(f"the input or output {name} is missing: {sorted(all_ours)}")
    kinds = {name: kind for name, kind, _ in ours}
    if kinds.get("first") != "Convolution" or kinds.get("product") != "MatMul":
        fail(f"types: {kinds}")
    # With AVX-512 OpenVINO's convolutions have the channels last, and so have ours; with AVX2 alone OpenVINO takes kernels of its own.
    layouts = {name: data["outputLayouts"] for name, kind, data in theirs if kind == "Convolution"}
    mine = {name: data["outputLayouts"] for name, kind, data in ours if kind == "Convolution"}
    has_avx512 = "avx512f" in pathlib.Path("/proc/cpuinfo").read_text().split()
    if has_avx512 and "acdb" in layouts.values() and set(mine.values()) != {"acdb"}:
        fail(f"layouts of convolutions: {mine}, OpenVINO's {layouts}")
    print(f"{len(ours)} steps, OpenVINO has {len(theirs)}; keys {sorted(wanted)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
