# SPDX-License-Identifier: Apache-2.0
"""What a package says of itself where libraries are missing."""
import os
import pickle
import sysconfig
import weakref

import numpy
import pytest
from conftest import relu_model

import tenon as tn


def test_absent_has_a_reason_for_each():
    absent = tn.absent()
    assert all(name.split()[0] in ("device", "framework", "elements") and why for name, why in absent.items()), absent
    assert "device cpu" not in absent


def test_a_module_that_cannot_be_loaded_breaks_nothing(python, tmp_path, monkeypatch):
    (tmp_path / "libtenon_device_broken.so").write_bytes(b"no library")
    (tmp_path / "libtenon_elements_broken.so").write_bytes(b"\x7fELF no library either")
    for name in ("TENON_DEVICE_PATH", "TENON_ELEMENT_PATH"):
        monkeypatch.setenv(name, os.pathsep.join(each for each in (str(tmp_path), os.environ.get(name)) if each))
    out = python("""
import tenon as tn
absent = tn.absent()
print(absent["device broken"])
print(absent["elements broken"])
print("CPU" in tn.Core().available_devices)
""")
    device, elements, cpu = out.splitlines()
    assert "libtenon_device_broken.so" in device and "libtenon_elements_broken.so" in elements and cpu == "True", out


def test_libraries_of_modules_serve_no_others(python):
    """Packages of others bring releases of their own of the libraries that Tenon takes from the system: theirs must find their own symbols."""
    python("""
import ctypes
import tenon as tn
assert tn.elements() and tn.contexts()
for name in ("avcodec_version", "av_frame_alloc", "rd_kafka_version", "mosquitto_lib_version", "gst_init", "vaInitialize", "_ZN2cv3Mat10deallocateEv"):
    try:
        getattr(ctypes.CDLL(None), name)
    except AttributeError:
        continue
    raise AssertionError(f"{name} is seen by every library of the process")
""")


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has one lock for all threads anyway")
def test_a_free_threaded_python_takes_its_lock(python):
    """The module relies on it, and does not say that it works without."""
    assert python("""
import sys, warnings
before = sys._is_gil_enabled()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import tenon
print(before, sys._is_gil_enabled(), any("tenon" in str(each.message) for each in told))
""") == "False True True\n"


def test_the_tool_is_named_where_it_is_missing(python, monkeypatch):
    monkeypatch.setenv("TENON_TOOL", "/nonexistent/tenon")
    python("""
import runpy
try:
    runpy.run_module("tenon", run_name="__main__")
except SystemExit as end:
    assert "/nonexistent/tenon" in str(end) and "TENON_TOOL" in str(end), end
else:
    raise AssertionError("no exit")
""")


def test_objects_may_be_referred_to_weakly(relu):
    request = relu.create_infer_request()
    for each in (relu, request, request.get_tensor("x"), tn.Frame(numpy.zeros((2, 2), numpy.uint8)), relu_model()):
        assert weakref.ref(each)() is each


def test_errors_come_whole_from_other_processes():
    """As those of multiprocessing's workers, which are pickled."""
    def missing(call):
        try:
            call()
        except tn.Error as error:
            return error
        return None

    for error in (missing(lambda: tn.read_model("/nowhere.onnx")), missing(lambda: tn.core().read_model("/nowhere.onnx")),
                  missing(lambda: tn.compile_model(relu_model(), "TOASTER")), *(kind("why") for kind in tn.errors.BY_CODE.values())):
        back = pickle.loads(pickle.dumps(error))
        assert type(back) is type(error) and str(back) == str(error) and str(back)
        for name in ("code", "native_api", "native_code", "errno", "strerror", "filename"):
            assert getattr(back, name, None) == getattr(error, name, None)


def test_shapes_compare_to_anything():
    assert tn.PartialShape([1]) != 5 and tn.PartialShape([1]) == [1] and tn.PartialShape([1]) not in [None, "?,x"]
    assert tn.Dimension(3) == 3 and tn.Dimension(3) != "x"
