# SPDX-License-Identifier: Apache-2.0
"""The list of OpenVINO's names: checked against the installed wheel, with the reasons of what is absent."""
import importlib.util

import pytest
from conftest import source_tree

import tenon.openvino as ov

ROOT = source_tree()


@pytest.fixture(scope="module")
def names():
    pytest.importorskip("openvino", reason="OpenVINO's wheel is not installed: there is nothing to compare with")
    spec = importlib.util.spec_from_file_location("names", ROOT / "bindings" / "python" / "names.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def report(names):
    return names.collect()


def test_at_least_95_of_100_names_are_present(report):
    present, count = report.share()
    assert count > 3000 and present / count >= 0.95


def test_each_absent_name_has_a_reason(report):
    assert not report.unexplained


def test_no_reason_is_kept_for_what_is_there(names, report):
    from tenon.openvino._absent import REASONS
    absent = {path for _, path, why, _ in report.rows if why}
    known = absent | {group for group, *_ in report.rows} | set(names.modules())
    for path in REASONS:
        assert any(each == path or each.startswith(path + ".") for each in known), f"{path} is no name of OpenVINO's"
        assert path not in {each for _, each, why, _ in report.rows if why is None}, f"{path} is there"


def test_the_page_is_current(names, report):
    import openvino
    page = (ROOT / "docs" / "reference" / "python_openvino_names.md").read_text()
    assert page == names.page(report, openvino.__version__.partition("-")[0]), "run bindings/python/names.py"


def test_functions_of_operation_sets_have_the_same_arguments(names):
    """Names, order and defaults of all functions of all sets."""
    import importlib
    import inspect
    different = []
    for version in range(1, 18):
        theirs = importlib.import_module(f"openvino.opset{version}")
        own = getattr(ov, f"opset{version}")
        for name in dir(own):
            try:
                wanted = inspect.signature(getattr(theirs, name))
            except (AttributeError, ValueError, TypeError):
                continue
            if any(each.kind == each.VAR_POSITIONAL for each in wanted.parameters.values()) or name in ("parameter", "constant", "assign", "read_value"):
                continue  # Overloads, and defaults that are types.
            left = [(each.name, each.default) for each in wanted.parameters.values()]
            right = [(each.name, each.default) for each in inspect.signature(getattr(own, name)).parameters.values()]
            if left != right:
                different.append((version, name, left, right))
    assert not different


def test_what_is_missing_says_why():
    for path, why in (("frontend", "ONNX"), ("Op", "table"), ("VAContext", "VA")):
        with pytest.raises(AttributeError, match=why):
            getattr(ov, path)
    with pytest.raises(AttributeError, match="no operation CTCLoss"):
        ov.opset16.ctc_loss
    with pytest.raises(AttributeError, match="no such operation"):
        ov.opset13.nothing
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        ov.nothing
    with pytest.raises(NotImplementedError, match="export"):
        ov.convert_model(object())
    with pytest.raises(NotImplementedError, match="LowLatency2"):
        ov.passes.Manager().register_pass("LowLatency2")


def test_old_and_deep_paths():
    import tenon.openvino.opset13 as ops
    import tenon.openvino.properties.hint as hints
    import tenon.openvino.properties.intel_gpu.hint as gpu_hints
    from tenon.openvino.op import util
    from tenon.openvino.preprocess import ColorFormat, PrePostProcessor
    from tenon.openvino.runtime import Core, PartialShape, opset8
    from tenon.openvino.runtime.passes import Manager
    from tenon.openvino.utils.types import get_element_type
    assert Core is ov.Core and PartialShape is ov.PartialShape and Manager is ov.passes.Manager and opset8 is ov.opset8
    assert ops is ov.opset13 and ops.relu is ov.opset8.relu and ov.opset8.gather is not ov.opset1.gather
    assert hints.performance_mode == "PERFORMANCE_HINT" and hints.performance_mode("LATENCY") == ("PERFORMANCE_HINT", "LATENCY")
    assert str(hints.PerformanceMode.LATENCY) == "PerformanceMode.LATENCY" and gpu_hints.queue_priority() == "GPU_QUEUE_PRIORITY"
    assert util.VariableInfo().data_shape.is_dynamic and ColorFormat.RGB != ColorFormat.BGR and PrePostProcessor
    assert get_element_type(float) == ov.Type.f32 and ov.properties.enable_profiling(True) == ("PERF_COUNT", True)
    assert ov.__version__.startswith("2026.")


def test_graphs_refuse_what_is_no_node():
    x = ov.opset13.parameter([2], "f32")
    model = ov.Model([ov.opset13.relu(x)], [x], "m")
    for call in (model.add_parameters, model.add_results, model.add_sinks, model.get_ops()[1].set_arguments):
        with pytest.raises(TypeError):
            call([None])
    assert len(model.clone().parameters) == 1
    with pytest.raises(RuntimeError, match="no body"):
        ov.op.tensor_iterator().evaluate([], [])
