# SPDX-License-Identifier: Apache-2.0
"""Arrays of torch, JAX, OpenCV, PyAV and ml_dtypes, as tensors and back: each is right in place, by address and by the ledger, or refused
with a reason. CuPy's and torch's on a GPU where there is one."""
import ctypes
import gc
import pathlib
import sys
import weakref

import numpy
import pytest

import tenon as tn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from conftest import relu_model  # noqa: E402

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
jnp = jax.numpy
jax.config.update("jax_default_device", jax.devices("cpu")[0])  # On a machine with a GPU, too.
ml_dtypes = pytest.importorskip("ml_dtypes")


def address(array):
    return array.__array_interface__["data"][0]


def shared(source):
    """A tensor over `source`, with nothing copied."""
    with tn.ledger() as moved:
        tensor = tn.Tensor(source, shared_memory=True)
        mapped = tn.map(source, "cpu", policy="require")
    assert moved.copied == 0 and moved.converted == 0, moved
    assert address(mapped.data.view("uint8") if mapped.data.dtype.kind == "V" else mapped.data) == address(tensor.data.view("uint8") if tensor.data.dtype.kind == "V" else tensor.data)
    return tensor


def refused(source, reason):
    """Cannot be shared, and says why; the copy, where there is one, has the values."""
    for use in (lambda: tn.Tensor(source, shared_memory=True), lambda: tn.map(source, "cpu", policy="require"), lambda: tn.from_dlpack(source)):
        with pytest.raises((BufferError, TypeError), match=reason):
            use()


TORCH = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0",
         "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "boolean"}


@pytest.mark.parametrize("name, kind", TORCH.items())
def test_torch_is_shared_both_ways(name, kind):
    source = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
    tensor = shared(source)
    assert str(tensor.element_type) == kind and tensor.shape == (2, 3) and tensor.writable
    assert tensor.__array_interface__["data"][0] == source.data_ptr() if hasattr(tensor, "__array_interface__") else True
    back = torch.from_dlpack(tensor)
    assert back.data_ptr() == source.data_ptr() and back.dtype == source.dtype and back.shape == source.shape
    source.view(torch.uint8)[1, -1] = 1
    assert (back.view(torch.uint8) == source.view(torch.uint8)).all()


def test_torch_with_strides():
    whole = torch.arange(24.0).reshape(4, 6)
    for part in (whole[::2, 1:4], whole.t(), whole[:, 3], torch.zeros(1).expand(5), whole.unsqueeze(1)):
        tensor = shared(part)
        assert torch.from_dlpack(tensor).data_ptr() == part.data_ptr() and (tensor.data == part.numpy()).all()
        assert tensor.shape == tuple(part.shape)
    for shape in ((), (0,), (2, 0, 3)):
        assert shared(torch.zeros(shape)).shape == shape


def test_torch_that_memory_alone_does_not_hold():
    refused(torch.zeros(3, requires_grad=True), "requires gradients.*detach")
    refused(torch.nn.Parameter(torch.zeros(3)), "requires gradients")
    assert shared(torch.zeros(3, requires_grad=True).detach()).shape == (3,)
    negated = torch._neg_view(torch.ones(3))
    refused(negated, "negated view.*resolve_neg")
    imaginary = torch.ones(3, dtype=torch.complex64).conj().imag
    assert imaginary.is_neg()
    refused(imaginary, "resolve_neg")
    assert shared(negated.resolve_neg()).data.tolist() == [-1, -1, -1]
    refused(torch.ones(3, dtype=torch.complex64).conj(), "conjugated view.*resolve_conj")
    refused(torch.ones(3, dtype=torch.complex64), "complex")
    refused(torch.eye(3).to_sparse(), "layout")
    refused(torch.zeros(3, device="meta"), "meta")
    with torch.inference_mode():
        assert shared(torch.ones(3)).data.tolist() == [1, 1, 1]
    with pytest.raises(BufferError, match="requires gradients"):
        tn.compile_model(relu_model(), "CPU").create_infer_request().set_tensor("x", tn.Tensor(torch.zeros(1, 3, 4, requires_grad=True), True))


def test_torch_below_a_byte():
    packed = torch.tensor([0x21, 0x43], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    tensor = shared(packed)
    assert str(tensor.element_type) == "f4e2m1" and tensor.shape == (4,) and tensor.data.view("uint8").tolist() == [0x21, 0x43]


def test_torch_cannot_move_what_is_shared():
    for kind in (torch.float32, torch.bfloat16, torch.float8_e5m2):
        source = torch.zeros(1000, dtype=kind)
        tensor = shared(source)
        with pytest.raises(RuntimeError, match="resiz"):
            source.resize_(10_000_000)
        with pytest.raises(RuntimeError, match="resiz"):
            source.untyped_storage().resize_(0)
        assert tensor.data.view("uint8").sum() == 0


def test_lifetimes_of_torch():
    source = torch.ones(1000)
    gone = weakref.ref(source.untyped_storage())
    tensor = shared(source)
    del source
    gc.collect()
    view = tensor.data
    del tensor
    gc.collect()
    assert view.sum() == 1000 and gone is not None
    ours = tn.Tensor("f32", [1000])
    ours.data[:] = 3
    theirs = torch.from_dlpack(ours)
    del ours
    gc.collect()
    assert theirs.sum() == 3000


def test_torch_as_input_and_output():
    compiled = tn.compile_model(relu_model((1, 3, 4)), "CPU")
    request = compiled.create_infer_request()
    source, target = torch.arange(12.0).reshape(1, 3, 4) - 6, torch.full((1, 3, 4), -1.0)
    request.set_tensor("x", tn.Tensor(source, shared_memory=True))
    request.set_tensor("y", tn.Tensor(target, shared_memory=True))
    with tn.ledger(request) as moved:
        request.infer()
    assert torch.equal(target, torch.relu(source)) and moved.copied == 0
    assert (compiled(source)[0] == torch.relu(source).numpy()).all()


JAX = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "int32": "i32", "int8": "i8", "uint8": "u8", "bool": "boolean"}


@pytest.mark.parametrize("name, kind", JAX.items())
def test_jax_is_shared_and_stays_as_it_is(name, kind):
    source = jnp.arange(6).reshape(2, 3).astype(getattr(jnp, name))
    for tensor in (shared(source), tn.from_dlpack(source)):
        assert str(tensor.element_type) == kind and not tensor.writable and not tensor.data.flags.writeable
        assert address(tensor.data.view("uint8")) == source.unsafe_buffer_pointer()
        with pytest.raises((BufferError, PermissionError, ValueError)):
            tensor.copy_from(tn.Tensor(kind, [2, 3]))
    assert bytes(tensor.data.view("uint8")) == numpy.asarray(source).tobytes()


def test_jax_takes_ours():
    ours = tn.Tensor(numpy.arange(64, dtype=numpy.float32))
    theirs = jnp.from_dlpack(ours)
    assert (numpy.asarray(theirs) == ours.data).all()


def test_jax_that_cannot_be_shared():
    gone = jnp.ones(4)
    gone.delete()
    refused(gone, "deleted|null|len")
    refused(jnp.ones(4, jnp.int4), "one element to a byte")
    assert tn.Tensor(jnp.array([1, 2, 3], jnp.int4)).shape == (3,)
    with pytest.raises((BufferError, TypeError)):
        jax.make_jaxpr(lambda x: tn.Tensor(x, shared_memory=True))(jnp.ones(3))


def test_jax_arrays_that_are_deleted_stay():
    source = jnp.arange(1000.0)
    tensor = shared(source)
    wanted = numpy.array(source)
    try:
        source.delete()
    except RuntimeError:
        pass
    jnp.full(1000, 7.0).block_until_ready()
    assert (tensor.data == wanted).all()


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"])
def test_ml_dtypes(name):
    source = numpy.array([1, 2, 4, 0.5], getattr(ml_dtypes, name))
    tensor = shared(source)
    assert tensor.data.dtype == source.dtype and address(tensor.data.view("uint8")) == address(source.view("uint8"))
    strided = source[::2]
    assert (tn.Tensor(strided, True).data == strided).all() and (tn.Tensor(strided).data == strided).all()
    with pytest.raises(BufferError, match="negative"):
        tn.Tensor(source[::-1], True)
    assert (tn.Tensor(source[::-1]).data == source[::-1]).all()
    source.flags.writeable = False
    assert not tn.Tensor(source, True).writable


@pytest.mark.parametrize("name", ["int4", "uint4", "float4_e2m1fn"])
def test_ml_dtypes_of_4_bits(name):
    source = numpy.array([1, 2, 3, 1, 2], getattr(ml_dtypes, name))
    with pytest.raises(BufferError, match="one element to a byte"):
        tn.Tensor(source, True)
    with tn.ledger() as moved:
        mapped = tn.map(source, "cpu")
    assert mapped.shape == (5,) and mapped.byte_size == 3 and moved.copied == 3


def test_opencv():
    cv2 = pytest.importorskip("cv2")
    picture = cv2.resize(numpy.arange(48, dtype=numpy.uint8).reshape(4, 4, 3), (8, 6))
    assert address(shared(picture).data) == address(picture)
    assert address(tn.Frame(picture, "bgr24").numpy()) == address(picture)
    assert (cv2.cvtColor(tn.Frame(picture, "bgr24").numpy(), cv2.COLOR_BGR2RGB) == tn.Frame(picture, "bgr24").to("rgb").numpy()).all()
    region = picture[1:4, 2:6]
    assert (shared(region).data == region).all()


def test_pyav():
    av = pytest.importorskip("av")
    array = numpy.arange(64 * 48 * 3, dtype=numpy.uint8).reshape(48, 64, 3)
    frame = av.VideoFrame.from_ndarray(array, format="rgb24")
    plane = shared(frame.planes[0])
    assert plane.byte_size >= array.nbytes
    pointer = ctypes.c_char.from_buffer(frame.planes[0])
    assert address(plane.data) == ctypes.addressof(pointer)
    del frame
    gc.collect()
    assert bytes(plane.data[:64 * 3]) == array[0].tobytes()


def test_numpy_that_moves():
    source = numpy.zeros(1000, numpy.float32)
    tensor = shared(source)
    with pytest.raises(ValueError, match="resize"):
        source.resize(10_000_000)
    grown = bytearray(1000)
    held = shared(grown)
    with pytest.raises(BufferError):
        grown.extend(bytes(10_000_000))
    source[:] = 5  # Written meanwhile: seen, since it is the same memory.
    assert tensor.data.sum() == 5000 and held.byte_size == 1000


def test_libraries_of_others_stay_their_own():
    """Frameworks that Tenon loads must not answer calls of the packages' own copies, whichever is loaded first."""
    pytest.importorskip("av")
    from conftest import run_python
    orders = ["tn.contexts(); tn.elements(); import cv2, av, torch, jax", "import cv2, av, torch, jax; tn.contexts(); tn.elements()"]
    for order in orders:
        run_python(f"""
import numpy
import tenon as tn
{order}
picture = numpy.zeros((48, 64, 3), numpy.uint8)
assert cv2.GaussianBlur(picture, (3, 3), 0).shape == picture.shape and cv2.imencode('.png', picture)[0]
assert av.VideoFrame.from_ndarray(picture).reformat(32, 24).width == 32
assert torch.nn.functional.relu(torch.zeros(3)).sum() == 0 and jax.numpy.ones(3).sum() == 3
assert tn.Frame(picture).to("gray").width == 64
""", timeout=200)


def has_gpu():
    return torch.cuda.is_available()


@pytest.mark.skipif(not has_gpu(), reason="no GPU: CUDA arrays of torch and CuPy are tested on a machine that has one")
class TestOnAGpu:
    def test_torch(self):
        source = torch.arange(24.0, device="cuda").reshape(4, 6)
        tensor = tn.Tensor(source, shared_memory=True)
        assert tensor.__cuda_array_interface__["data"][0] == source.data_ptr() and tensor.kind.startswith("cuda")
        back = torch.from_dlpack(tensor)
        assert back.data_ptr() == source.data_ptr() and torch.equal(back, source)
        with tn.ledger() as moved:
            host = tn.map(source, "cpu")
        assert (host.data == source.cpu().numpy()).all() and moved.copied == source.nbytes
        part = source[::2, 1:3]
        assert torch.from_dlpack(tn.from_dlpack(part)).data_ptr() == part.data_ptr()
        assert str(tn.Tensor(source.bfloat16(), shared_memory=True).element_type) == "bf16"

    def test_streams(self):
        """What another stream still writes is waited for, by the streams."""
        stream = torch.cuda.Stream()
        source = torch.zeros(1 << 24, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            for _ in range(200):
                source += 1
            tensor = tn.from_dlpack(source)
        host = tn.map(tensor, "cpu").data
        assert host.min() == host.max() == 200

    def test_cupy(self):
        cupy = pytest.importorskip("cupy")
        source = cupy.arange(24, dtype=cupy.float32).reshape(4, 6)
        tensor = tn.Tensor(source, shared_memory=True)
        assert tensor.__cuda_array_interface__["data"][0] == source.data.ptr
        assert cupy.asarray(tensor).data.ptr == source.data.ptr and cupy.from_dlpack(tensor).data.ptr == source.data.ptr

        class Old:
            __cuda_array_interface__ = source.__cuda_array_interface__

        assert tn.Tensor(Old(), shared_memory=True).__cuda_array_interface__["data"][0] == source.data.ptr
        with pytest.raises(BufferError):
            tn.Tensor(cupy.zeros(3, cupy.complex64), shared_memory=True)
        assert (tn.map(source[:, ::2], "cpu").data == cupy.asnumpy(source[:, ::2])).all()

    def test_numba(self):
        numba = pytest.importorskip("numba.cuda")
        source = numba.to_device(numpy.arange(6, dtype=numpy.int32))
        assert (tn.Tensor(source).data == numpy.arange(6)).all()
        taken = numba.as_cuda_array(tn.Tensor(source, shared_memory=True))
        assert taken.copy_to_host().tolist() == [0, 1, 2, 3, 4, 5]

    def test_jax(self):
        try:
            gpu = jax.devices("gpu")[0]
        except RuntimeError:
            pytest.skip("this JAX has no GPU")
        source = jax.device_put(jnp.arange(24.0).reshape(4, 6), gpu)
        tensor = tn.from_dlpack(source)
        assert tensor.__dlpack_device__()[0] == 2 and (tn.map(tensor, "cpu").data == numpy.asarray(source)).all()
        refused(jax.device_put(jnp.ones(3, jnp.complex64), gpu), "complex")
