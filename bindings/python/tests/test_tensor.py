# SPDX-License-Identifier: Apache-2.0
"""Arrays as tensors and back: by address, with their lifetimes, and what cannot be shared."""
import array
import ctypes
import gc
import hashlib
import re
import sys
import weakref

import numpy
import pytest

import tenon as tn


def address(thing):
    return numpy.asarray(thing).__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"])
def test_numpy_is_shared_both_ways(dtype):
    source = numpy.arange(6).astype(dtype).reshape(2, 3)
    tensor = tn.Tensor(source, shared_memory=True)
    assert tensor.shape == [2, 3] and tensor.shape == (2, 3)
    assert tensor.element_type.to_dtype() == source.dtype
    assert tensor.data.__array_interface__["data"][0] == source.__array_interface__["data"][0]
    source[1, 2] = 0
    assert tensor.data[1, 2] == 0
    assert (numpy.from_dlpack(tensor) == source).all() and address(numpy.from_dlpack(tensor)) == address(source)
    assert memoryview(tensor).shape == (2, 3)
    assert address(numpy.asarray(tensor)) == address(source)


def test_copy_is_the_default():
    source = numpy.ones(3, numpy.float32)
    tensor = tn.Tensor(source)
    source[0] = 7
    assert tensor.data[0] == 1


def test_strided_arrays_keep_their_strides():
    whole = numpy.arange(24, dtype=numpy.float32).reshape(4, 6)
    part = whole[::2, 1:4]
    tensor = tn.Tensor(part, shared_memory=True)
    assert tensor.strides == part.strides and not tensor.is_continuous()
    assert (tensor.data == part).all() and address(tensor.data) == address(part)
    assert (tn.Tensor(part).data == part).all() and tn.Tensor(part).is_continuous()
    fortran = numpy.asfortranarray(whole)
    assert (tn.Tensor(fortran, True).data == whole).all()
    with pytest.raises(BufferError, match="strides"):
        hashlib.sha256(tensor)


def test_negative_strides_are_refused_or_copied():
    backwards = numpy.arange(6, dtype=numpy.int32)[::-1]
    with pytest.raises(BufferError, match="ascontiguousarray"):
        tn.Tensor(backwards, shared_memory=True)
    assert (tn.Tensor(backwards).data == backwards).all()


def test_big_endian_is_refused_or_converted():
    big = numpy.arange(4, dtype=">i4")
    with pytest.raises(BufferError, match="big-endian"):
        tn.Tensor(big, shared_memory=True)
    assert tn.Tensor(big).data.tolist() == [0, 1, 2, 3]


def test_read_only_stays_read_only():
    source = numpy.zeros(4, numpy.uint8)
    source.flags.writeable = False
    tensor = tn.Tensor(source, shared_memory=True)
    assert not tensor.writable and not tensor.data.flags.writeable
    with pytest.raises(TypeError, match="not writable"):
        (ctypes.c_char * 4).from_buffer(tensor)
    assert tn.Tensor(b"abc", True).data.tolist() == [97, 98, 99]
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__(copy=False)  # Legacy DLPack cannot say so.
    assert not numpy.from_dlpack(tensor).flags.writeable


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,) * 8])
def test_odd_shapes(shape):
    source = numpy.zeros(shape, numpy.float32)
    for shared in (False, True):
        tensor = tn.Tensor(source, shared)
        assert tensor.shape == shape and tensor.data.shape == shape and tensor.size == source.size
    assert numpy.from_dlpack(tn.Tensor(source, True)).shape == shape


def test_other_exporters():
    floats = array.array("f", [1, 2, 3])
    assert tn.Tensor(floats, True).element_type == tn.Type.f32
    view = memoryview(bytearray(range(12))).cast("B", (3, 4))
    assert tn.Tensor(view, True).shape == [3, 4]
    assert tn.Tensor([[1, 2], [3, 4]]).element_type == tn.Type.i64
    assert tn.Tensor(2.5).shape == ()
    numbers = (ctypes.c_int * 3)(4, 5, 6)
    assert tn.Tensor(numbers, True).data.tolist() == [4, 5, 6]


def test_what_is_no_array():
    for wrong in (None, object(), {"a": 1}, {1, 2}, tn):
        with pytest.raises(TypeError):
            tn.Tensor(wrong)
    for wrong in ([1, 2], (1.5, 2), 3, 2.5):
        with pytest.raises(BufferError, match="always copied"):
            tn.Tensor(wrong, shared_memory=True)
    for wrong in ([2, -3], "2", [1.5]):
        with pytest.raises(TypeError, match="a shape .*, True or False, not " + re.escape(repr(wrong))):
            tn.Tensor("f32", wrong)
    for wrong in (numpy.zeros(2, numpy.complex64), numpy.zeros(2, "datetime64[s]"), numpy.zeros(2, [("a", "i4")])):
        with pytest.raises(TypeError):
            tn.Tensor(wrong)
    with pytest.raises(TypeError):
        tn.Tensor(numpy.array([1, "x", None], dtype=object))


@pytest.mark.parametrize("device", [(), (1,), (1, 0, 0), None, 5, "10", [1, 0], ("a", 0), (None, 0), (2**70, 0)])
def test_wrong_devices_of_dlpack_are_named(device):
    class Exporter:
        def __dlpack__(self, **_):
            return numpy.zeros(3).__dlpack__()

        def __dlpack_device__(self):
            return device

    for take in (tn.from_dlpack, tn.Tensor):
        with pytest.raises(TypeError, match="__dlpack_device__.. gives a kind of device and its number, not"):
            take(Exporter())


def test_strings():
    tensor = tn.Tensor(numpy.array([["one", "zwei"], ["trois", ""]]))
    assert tensor.element_type == tn.Type.string and tensor.shape == [2, 2]
    assert tensor.str_data.tolist() == [["one", "zwei"], ["trois", ""]]
    with pytest.raises(BufferError):
        tn.Tensor(numpy.array(["a"]), shared_memory=True)


def test_types_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    source = numpy.array([1.5, -2, 3], ml_dtypes.bfloat16)
    tensor = tn.Tensor(source, shared_memory=True)
    assert tensor.element_type == tn.Type.bf16 and tensor.data.dtype == source.dtype
    assert address(tensor.data.view("uint16")) == address(source.view("uint16"))
    assert tn.Tensor(numpy.array([1, 2], ml_dtypes.float8_e4m3fn)).element_type == tn.Type.f8e4m3
    packed = tn.Tensor(numpy.array([1, -2, 3], ml_dtypes.int4))
    assert packed.element_type == tn.Type.i4 and packed.shape == [3] and packed.byte_size == 2
    assert packed.data.tolist() == [0xE1, 0x03] or packed.data.view("uint8").tolist() == [0xE1, 0x03]
    with pytest.raises(BufferError, match="one element to a byte"):
        tn.Tensor(numpy.array([1, 2], ml_dtypes.int4), shared_memory=True)


def test_the_array_lives_as_long_as_the_tensor():
    source = numpy.ones(1000, numpy.float32)
    gone = weakref.ref(source)
    tensor = tn.Tensor(source, shared_memory=True)
    del source
    gc.collect()
    assert gone() is not None and tensor.data[999] == 1
    view = tensor.data
    del tensor
    gc.collect()
    assert gone() is not None and view[0] == 1
    del view
    gc.collect()
    assert gone() is None


def test_the_memory_lives_as_long_as_the_array():
    tensor = tn.Tensor("f32", [1000])
    view = tensor.data
    view[:] = 5
    tensor.set_shape([2000])
    exported = numpy.from_dlpack(tn.Tensor(view, True))
    del tensor
    gc.collect()
    assert view.shape == (1000,) and (view == 5).all() and (exported == 5).all()


def test_references_are_balanced():
    source = numpy.zeros(10, numpy.float32)
    before = sys.getrefcount(source)
    for _ in range(100):
        tensor = tn.Tensor(source, True)
        tensor.data
        tn.from_dlpack(source)
        numpy.from_dlpack(tensor)
    del tensor
    gc.collect()
    assert sys.getrefcount(source) == before


def test_regions_and_reinterpretation():
    whole = tn.Tensor(numpy.arange(12, dtype=numpy.float32).reshape(3, 4))
    part = tn.Tensor(whole, [1, 1], [3, 3])
    assert part.data.tolist() == [[5, 6], [9, 10]]
    part.data[0, 0] = 50
    assert whole.data[1, 1] == 50
    with pytest.raises(IndexError):
        tn.Tensor(whole, [1, 1], [4, 3])
    packed = tn.Tensor(numpy.array([0x21, 0x43], numpy.uint8), [4], tn.Type.u4)
    assert packed.shape == [4] and packed.element_type == tn.Type.u4
    with pytest.raises(ValueError, match="takes more"):
        tn.Tensor(numpy.zeros(1, numpy.uint8), [4], tn.Type.u4)


def test_copies():
    source, target = tn.Tensor(numpy.arange(6, dtype=numpy.float32)), tn.Tensor("f32", [1])
    source.copy_to(target)
    assert target.shape == [6] and target.data.tolist() == [0, 1, 2, 3, 4, 5]
    target.copy_from(numpy.zeros(3, numpy.float32))
    assert target.shape == [3]
    with pytest.raises(ValueError):
        source.copy_to(tn.Tensor("i32", [6]))


def test_dlpack_protocol():
    tensor = tn.Tensor(numpy.arange(3, dtype=numpy.float32))
    assert tensor.__dlpack_device__() == (1, 0)
    capsule = tensor.__dlpack__(max_version=(1, 2))
    assert "dltensor_versioned" in repr(capsule)
    assert "dltensor_versioned" not in repr(tensor.__dlpack__())
    with pytest.raises(BufferError):
        tensor.__dlpack__(stream=1)
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(2, 0))

    class Once:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **_):
            return capsule

    assert tn.from_dlpack(Once()).data.tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match="used before"):
        tn.from_dlpack(Once())

    class Elsewhere(Once):
        def __dlpack_device__(self):
            return (16, 0)

    with pytest.raises(BufferError, match="kind 16, of which no framework here takes tensors"):
        tn.from_dlpack(Elsewhere())


def test_a_copy_that_is_forbidden_is_refused():
    tensor, frame = tn.Tensor(numpy.arange(3, dtype=numpy.float32)), tn.Frame(numpy.zeros((2, 4), numpy.uint8))
    assert address(tensor.__array__(numpy.float32, False)) == address(tensor)
    for each, kind in ((tensor, "f8"), (frame, "f4"), (tn.Tensor(numpy.array(["a"])), None)):
        assert each.__array__(kind, True) is not None and each.__array__(kind).shape == each.__array__(kind, None).shape
        with pytest.raises(ValueError, match="without a copy"):
            each.__array__(kind, False)


def test_rows_that_lie_anywhere_are_refused():
    """Exporters of pointers to rows, as in the buffer protocol's suboffsets."""
    exporters = pytest.importorskip("_testbuffer", reason="this Python lacks _testbuffer, which has such exporters")
    rows = exporters.ndarray(list(range(12)), shape=[3, 4], format="f", flags=exporters.ND_PIL)
    assert memoryview(rows).suboffsets[0] >= 0
    for shared in (True, False):
        with pytest.raises((BufferError, TypeError)):
            tn.Tensor(memoryview(rows), shared)
    assert tn.Tensor(exporters.ndarray(list(range(12)), shape=[3, 4], format="f"), True).data.tolist()[1] == [4, 5, 6, 7]


def test_types():
    assert tn.Type(numpy.float32) == tn.Type.f32 == tn.Type("f32") == tn.Type(numpy.dtype("float32"))
    assert tn.Type.f32 != tn.Type.f16 and len({tn.Type.f32, tn.Type("f32")}) == 1
    assert str(tn.Type.i64) == "i64" and tn.Type.bf16.bitwidth == 16 and tn.Type.u4.size == 1
    assert tn.Type.f32.is_real() and not tn.Type.f32.is_integral() and tn.Type.i8.is_signed()
    with pytest.raises(TypeError, match="f32"):
        tn.Type("float31")


def test_shapes():
    shape = tn.PartialShape([1, -1, (2, 8), "3..", "?"])
    assert str(shape) == "[1,?,2..8,3..,?]" and len(shape) == 5 and shape.is_dynamic
    assert shape[0].get_length() == 1 and shape[-3].max_length == 8
    assert tn.PartialShape("[1,3,?]") == [1, 3, -1]
    assert tn.PartialShape([2, 3]).to_shape() == [2, 3]
    assert str(tn.PartialShape.dynamic()) == "[...]"
    assert tn.PartialShape([2, 3]).get_shape()[0] == 2
    assert str(tn.Shape([1, 2])) == "[1,2]" and tn.Shape("[1,2]") == (1, 2)
    with pytest.raises(IndexError):
        shape[9]
    for wrong in (None, 3, [1.5], [None], "[1,x]"):
        with pytest.raises((TypeError, ValueError)):
            tn.PartialShape(wrong)
    assert tn.Layout("NCHW").get_index_by_name("C") == 1 and tn.layout_helpers.width_idx(tn.Layout("NHWC")) == 2
