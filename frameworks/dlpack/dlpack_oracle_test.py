# SPDX-License-Identifier: Apache-2.0
"""NumPy and torch as judges of our DLPack: same bytes, same strides, same flags, released once. Usage: ... dlpack_oracle.so"""
import ctypes
import gc
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: this interpreter has no numpy, the judge of this test")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None

lib = ctypes.CDLL(sys.argv[1])
lib.oracle_error.restype = ctypes.c_char_p
for name in ("oracle_export", "oracle_import"):
    getattr(lib, name).restype = ctypes.c_void_p
lib.oracle_describe.restype = ctypes.c_char_p
api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

NAMES = {"dltensor": b"dltensor", "dltensor_versioned": b"dltensor_versioned"}
USED = {"dltensor": b"used_dltensor", "dltensor_versioned": b"used_dltensor_versioned"}
TYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "u64": "u8", "u32": "u4", "u16": "u2",
         "u8": "u1", "boolean": "?"}
failures = []
checks = 0
modern = tuple(int(x) for x in np.__version__.split(".")[:2]) >= (2, 1)  # Versioned DLPack, bool.


def check(condition, what):
    global checks
    checks += 1
    if not condition:
        failures.append(what)
        print("FAILED:", what)


class Ours:
    """An object that exports one of our tensors over `array`'s bytes, as a consumer expects."""

    def __init__(self, type_name, array, read_only=False, versioned=True, copy=0, byte_strides=None):
        self.args, self.versioned, self.keep = (type_name, array, read_only, copy, byte_strides), versioned, array

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **kwargs):
        type_name, array, read_only, copy, byte_strides = self.args
        versioned = self.versioned and kwargs.get("max_version") is not None
        ndim = array.ndim
        shape = (ctypes.c_int64 * max(ndim, 1))(*array.shape)
        strides = (ctypes.c_int64 * max(ndim, 1))(*(byte_strides or array.strides))
        pointer = lib.oracle_export(type_name.encode(), shape, strides, ndim, ctypes.c_void_p(array.ctypes.data), int(read_only),
                                    int(not versioned), copy)
        if not pointer:
            raise BufferError(lib.oracle_error().decode())
        return api.PyCapsule_New(pointer, NAMES["dltensor_versioned" if versioned else "dltensor"], None)


def arrays():
    for name, code in TYPES.items():
        base = (np.arange(2 * 3 * 4) % 2 if code == "?" else np.arange(2 * 3 * 4)).astype(code).reshape(2, 3, 4)
        yield name, base
        yield name, base[:, ::2, 1:3]
        yield name, base.transpose(2, 0, 1)
    yield "f32", np.array(3.5, "f4")
    yield "f32", np.zeros((0, 3), "f4")
    yield "f32", np.zeros((1, 5), "f4")


def export_to(consumer, label, to_numpy):
    for name, array in arrays():
        what = f"export {name} {array.shape} strides {array.strides} to {label}"
        before = lib.oracle_released()
        try:
            theirs = consumer(Ours(name, array))
        except (RuntimeError, BufferError, TypeError) as error:
            # An implementation may lack a type, but not misread one.
            lacks = ("u16", "u32", "u64", "boolean") if label.startswith("torch") else () if modern else ("boolean",)
            check(name in lacks, f"{what}: refused: {error}")
            continue
        seen = to_numpy(theirs)
        check(np.array_equal(seen, array), what + ": other contents")
        if array.size:
            check(seen.__array_interface__["data"][0] == array.ctypes.data, what + ": copied")
            array[(0,) * array.ndim] = 1
            check(np.array_equal(seen, array), what + ": a later write is not seen")
            if array.size > 1:
                check(all(n == 1 or a == b for n, a, b in zip(array.shape, seen.strides, array.strides)), what + ": other strides")
        check(lib.oracle_released() == before, what + ": released while in use")
        del theirs, seen
        gc.collect()
        check(lib.oracle_released() == before + 1, what + ": released %d times" % (lib.oracle_released() - before))


def import_from(producer, label, versioned):
    for name, array in arrays():
        what = f"import {name} {array.shape} strides {array.strides} from {label}"
        source = producer(array)
        if source is None:
            continue
        try:
            capsule = source.__dlpack__(max_version=(1, 2)) if versioned else source.__dlpack__()
        except (BufferError, TypeError, RuntimeError):
            continue
        kind = "dltensor_versioned" if "versioned" in repr(capsule) else "dltensor"
        check((kind == "dltensor_versioned") == versioned, what + ": spoke another version than asked for")
        pointer = api.PyCapsule_GetPointer(capsule, NAMES[kind])
        api.PyCapsule_SetName(capsule, USED[kind])
        count = sys.getrefcount(source)
        tensor = lib.oracle_import(ctypes.c_void_p(pointer), int(kind == "dltensor"))
        check(bool(tensor), f"{what}: refused: {lib.oracle_error().decode()}")
        if not tensor:
            continue
        address, writable = ctypes.c_uint64(), ctypes.c_int()
        lib.oracle_describe(ctypes.c_void_p(tensor), ctypes.byref(address), ctypes.byref(writable))
        if array.size:
            check(address.value == array.ctypes.data, what + ": another address")
        out = np.empty(array.shape, array.dtype)
        check(lib.oracle_read(ctypes.c_void_p(tensor), ctypes.c_void_p(out.ctypes.data)) == 1, what + ": cannot be read")
        check(np.array_equal(out, array), what + ": other contents")
        if kind == "dltensor_versioned":
            check(bool(writable.value) == array.flags.writeable, what + ": read-only flag lost")
        lib.oracle_drop(ctypes.c_void_p(tensor))
        del capsule
        gc.collect()
        check(sys.getrefcount(source) <= count, what + ": the producer's object is still held")


export_to(np.from_dlpack, "numpy " + np.__version__, lambda a: a)
import_from(lambda a: a, "numpy legacy", False)
if modern:
    import_from(lambda a: a, "numpy versioned", True)

    def read_only(array):
        view = array.view()
        view.flags.writeable = False
        return view

    for name, array in arrays():
        theirs = np.from_dlpack(Ours(name, array, read_only=True))
        check(not theirs.flags.writeable, f"{name} {array.shape}: our read-only tensor became writable in numpy")
    # NumPy's own read-only arrays come in read-only.
    array = read_only(np.arange(6, dtype="f4"))
    capsule = array.__dlpack__(max_version=(1, 2))
    pointer = api.PyCapsule_GetPointer(capsule, NAMES["dltensor_versioned"])
    api.PyCapsule_SetName(capsule, USED["dltensor_versioned"])
    tensor = lib.oracle_import(ctypes.c_void_p(pointer), 0)
    address, writable = ctypes.c_uint64(), ctypes.c_int()
    lib.oracle_describe(ctypes.c_void_p(tensor), ctypes.byref(address), ctypes.byref(writable))
    check(writable.value == 0, "numpy's read-only array came in writable")
    lib.oracle_drop(ctypes.c_void_p(tensor))
if torch is not None:
    export_to(torch.utils.dlpack.from_dlpack, "torch " + torch.__version__, lambda t: t.numpy())
    import_from(lambda a: torch.from_numpy(a) if a.dtype.name not in ("uint16", "uint32", "uint64", "bool") else None, "torch", False)

# Byte strides that are not whole elements: refused with the reason, or copied when allowed.
odd = np.zeros(64, "u1")
odd_view = np.ndarray((3, 4), "u2", odd.data, 0, (9, 2))
try:
    np.from_dlpack(Ours("u16", odd_view))
    check(False, "odd strides were exported")
except BufferError as error:
    check("multiples" in str(error), "odd strides: no reason given: " + str(error))
copied = np.from_dlpack(Ours("u16", odd_view, copy=1))
check(np.array_equal(copied, odd_view), "odd strides: the copy differs")

print(f"{checks - len(failures)} of {checks} checks passed with numpy {np.__version__}" + (f" and torch {torch.__version__}" if torch else ""))
sys.exit(1 if failures else 0)
