# SPDX-License-Identifier: Apache-2.0
"""tenon.map() and tenon.explain(): by address and by the ledger, what is refused, and CUDA's arrays over a stand-in for its driver."""
import pathlib
import threading

import numpy
import pytest

import tenon as tn

CUDA = pathlib.Path(tn.__file__).parents[2] / "tests" / "cuda"


def address(thing):
    return numpy.asarray(thing).__array_interface__["data"][0]


def test_what_lies_there_already_is_the_same():
    source = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    with tn.ledger() as moved:
        mapped = tn.map(source, "cpu", policy="require")
        again = tn.map(mapped, "host", access="read_write", policy=tn.ZeroCopy.REQUIRE)
    assert address(mapped) == address(again) == address(source) and moved.copied == 0
    assert "cpu" in tn.contexts() and tn.contexts()["cpu"] == "cpu"
    frame = tn.Frame(numpy.zeros((4, 6, 3), numpy.uint8), time=2.0)
    assert address(tn.map(frame, "cpu", policy="require").numpy()) == address(frame.numpy())
    assert tn.map(frame, "cpu").time == 2.0
    assert tn.map(source, mapped).shape == (3, 4) and tn.map(source, frame).shape == (3, 4)


def test_copies_are_booked_and_required_ways_explain_themselves():
    source = numpy.arange(16, dtype=numpy.uint8).reshape(4, 4)
    with pytest.raises(TypeError):
        tn.map(source, "null.block", ledger=tn.Tensor(source))
    with tn.ledger() as moved:
        there = tn.map(source, "dmabuf")
    assert moved.copied == 16 and "dmabuf" in tn.contexts()[there.kind]
    assert (tn.map(there, "cpu").data == source).all()
    with pytest.raises(BufferError, match="it copies, and the policy requires zero copy"):
        tn.map(source, "dmabuf", policy="require")
    assert "no way without a copy" in tn.explain(source, "dmabuf", policy="require").splitlines()[0]
    assert ": copies" in tn.explain(source, "dmabuf").splitlines()[0]


def test_memory_of_a_framework_is_seen_by_others():
    source = numpy.arange(16, dtype=numpy.uint8).reshape(4, 4)
    with tn.ledger() as moved:
        there = tn.map(source, "null.block", access="read_write")
        back = tn.map(there, "cpu", policy="require")
    assert there.kind == "null" and address(back) == address(source) and moved.copied == 0
    assert (tn.Tensor(there).data == source).all()
    assert address(numpy.from_dlpack(there, device="cpu", copy=False)) == address(source)
    with pytest.raises(BufferError, match="to the host only"):
        there.__dlpack__(dl_device=(2, 0))


def test_arrays_that_no_tensor_lies_over():
    for array, why in ((numpy.arange(4, dtype=">i4"), "big-endian"), (numpy.arange(6, dtype=numpy.int32)[::-1], "negative strides")):
        with pytest.raises(BufferError, match=why):
            tn.map(array, "cpu", policy="require")
        with tn.ledger() as moved:
            mapped = tn.map(array, "cpu")
        assert (mapped.data == array).all() and moved.copied == array.nbytes
        assert why in tn.explain(array, "cpu") and tn.explain(array, "cpu", policy="require").startswith("no way: ")
    read_only = numpy.zeros(4, numpy.float32)
    read_only.flags.writeable = False
    assert not tn.map(read_only, "cpu").writable
    with pytest.raises((BufferError, PermissionError)):
        tn.map(read_only, "cpu", access="write")


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_odd_shapes(shape):
    source = numpy.zeros(shape, numpy.float32)
    assert tn.map(source, "cpu", policy="require").shape == shape
    assert tn.explain(source, "cpu")


def test_what_is_wrong_is_named():
    source = numpy.zeros(4, numpy.float32)
    with pytest.raises(LookupError, match="no context 'nowhere'.*'cpu'"):
        tn.map(source, "nowhere")
    with pytest.raises(TypeError, match="None"):
        tn.map(source, None)
    for to in (5, object(), [], numpy.zeros(1)):
        with pytest.raises(TypeError, match="a target is the name of a context"):
            tn.map(source, to)
    for what in (None, object(), {"a": 1}):
        with pytest.raises(TypeError):
            tn.map(what, "cpu")
        with pytest.raises(TypeError):
            tn.explain(what, "cpu")
    for wrong in ({"access": "append"}, {"policy": "copy"}, {"timeout": 0}, {"timeout": float("nan")}):
        with pytest.raises(ValueError):
            tn.map(source, "cpu", **wrong)
    with pytest.raises(ValueError, match="empty"):
        tn.map(tn.Tensor(), "cpu")
    with pytest.raises(ValueError, match="empty"):
        tn.map(source, tn.Tensor())


def test_from_many_threads():
    sources = [numpy.full(1000, i, numpy.int32) for i in range(4)]
    wrong = []

    def work(source):
        for _ in range(50):
            there = tn.map(source, "dmabuf")
            if (tn.map(there, "cpu").data != source).any():
                wrong.append(source[0])

    threads = [threading.Thread(target=work, args=[source]) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


WITH_CUDA = """
import ctypes, gc, weakref
import numpy
import tenon as tn

driver = ctypes.CDLL("libcuda.so.1")

def call(name, *arguments):
    result = getattr(driver, name)(*arguments)
    assert result == 0, (name, result)

call("cuInit", 0)
context = ctypes.c_void_p()
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxPushCurrent_v2", context)
assert "cuda" in tn.contexts().values(), tn.contexts()

class Memory:
    "Bytes of the device, as a library has them that is older than DLPack."
    def __init__(self, source):
        self.pointer = ctypes.c_uint64()
        self.source = numpy.ascontiguousarray(source)
        call("cuMemAlloc_v2", ctypes.byref(self.pointer), ctypes.c_size_t(max(self.source.nbytes, 1)))
        stream = ctypes.c_void_p()
        call("cuStreamCreate", ctypes.byref(stream), 1)
        call("cuMemcpyAsync", self.pointer, ctypes.c_uint64(self.source.ctypes.data), ctypes.c_size_t(self.source.nbytes), stream)
        while driver.cuStreamQuery(stream) != 0: pass
        self.changes = {}
    @property
    def __cuda_array_interface__(self):
        told = {"shape": self.source.shape, "typestr": self.source.dtype.str, "data": (self.pointer.value, False), "version": 3, "strides": None, "stream": None}
        return {**told, **self.changes}

source = numpy.arange(24, dtype=numpy.float32).reshape(4, 6)
memory = Memory(source)
"""


@pytest.fixture
def cuda(python, monkeypatch):
    if not (CUDA / "libcuda.so.1").exists():
        pytest.skip("the stand-in for CUDA's driver was not built")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(CUDA))
    return lambda code: python(WITH_CUDA + code, leaks=True)  # Owners that go after the interpreter: their memory is freed by another thread.


def test_cuda_arrays_are_shared_by_address(cuda):
    cuda("""
tensor = tn.Tensor(memory, shared_memory=True)
assert tensor.kind.startswith("cuda"), tensor.kind
told = tensor.__cuda_array_interface__
assert told["data"] == (memory.pointer.value, False) and told["typestr"] == "<f4" and told["shape"] == (4, 6) and told["strides"] is None, told
assert tensor.__dlpack_device__() == (2, 0)
again = tn.from_dlpack(tensor)
assert again.__cuda_array_interface__["data"] == told["data"]
assert "dltensor_versioned" in repr(tensor.__dlpack__(max_version=(1, 0), stream=1)) and "versioned" not in repr(tensor.__dlpack__(stream=2))
with tn.ledger() as moved:
    host = tn.map(tensor, "cpu")
assert (host.data == source).all() and moved.copied == source.nbytes, moved
assert (tn.Tensor(memory).data == source).all() and (numpy.from_dlpack(tensor, device="cpu") == source).all()
with tn.ledger() as moved:
    assert tn.map(memory, "cuda", policy="require").__cuda_array_interface__["data"] == told["data"]
assert moved.copied == 0
part = Memory(source)
part.changes = {"shape": (2, 3), "strides": (48, 8)}
strided = tn.Tensor(part, shared_memory=True)
assert strided.strides == (48, 8) and strided.__cuda_array_interface__["strides"] == (48, 8)
assert (tn.map(strided, "cpu").data == source[::2, ::2]).all()
memory.changes = {"data": (memory.pointer.value, True)}
assert not tn.Tensor(memory, shared_memory=True).writable
up = tn.map(source, "cuda")
assert (tn.map(up, "cpu").data == source).all()
""")


def test_the_owner_of_cuda_memory_lives_as_long_as_its_tensors(cuda):
    cuda("""
gone = weakref.ref(memory)
tensor = tn.Tensor(memory, shared_memory=True)
del memory
gc.collect()
assert gone() is not None
again = tn.from_dlpack(tensor)
del tensor
gc.collect()
assert gone() is not None and again.shape == (4, 6)
del again
for _ in range(6000):
    gc.collect()
    if gone() is None: break
    __import__("time").sleep(0.01)
assert gone() is None
""")


def test_wrong_cuda_arrays_are_refused(cuda):
    cuda("""
def refused(kind, text, **changes):
    memory.changes = changes
    for use in (lambda: tn.Tensor(memory, shared_memory=True), lambda: tn.map(memory, "cpu", policy="require")):
        try:
            use()
        except kind as error:
            assert text in str(error), error
        else:
            raise AssertionError((text, changes))

refused(BufferError, "does not know", data=(12345678, False))
refused(BufferError, "stream 0", stream=0)
refused(BufferError, "mask", mask=memory)
refused(BufferError, "big-endian", typestr=">f4")
refused(BufferError, "multiples", strides=(23, 4))
refused(ValueError, "strides", strides=(4,))
refused(BufferError, "from there on", shape=(1 << 30, 6))
refused(TypeError, "", typestr="<c8")
refused(TypeError, "", typestr=None, shape=None)
refused(TypeError, "", data=None)
for wrong in ({"stream": 0}, {"dl_device": (4, 0)}, {"copy": True}):
    memory.changes = {}
    try:
        tn.Tensor(memory, shared_memory=True).__dlpack__(**wrong)
    except BufferError as error:
        assert str(error)
    else:
        raise AssertionError(wrong)
memory.changes = {"shape": (0, 6), "data": (0, False)}
assert tn.Tensor(memory, shared_memory=True).size == 0
""")


def test_tensors_on_the_host_have_no_cuda_interface():
    tensor = tn.Tensor(numpy.zeros(3, numpy.float32))
    assert not hasattr(tensor, "__cuda_array_interface__")
