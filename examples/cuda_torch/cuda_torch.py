#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A torch tensor on the GPU as the input of a model on Tenon's GPU device: cuda_torch.py LIBRARY MODEL.

With torch's own allocator (cudaMalloc) the input is copied once, on the device. With Tenon's allocator in a torch.cuda.MemPool it is
read where it lies. Exits with 77 where there is no torch with a GPU.
"""
import ctypes
import sys

SKIPPED = 77


def skip(reason: str):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


try:
    import torch
except ImportError:
    skip("this Python has no torch")
if not torch.cuda.is_available():
    skip("torch finds no CUDA device")

library_path, model_path = sys.argv[1:3]
tenon = ctypes.CDLL(library_path)
text = ctypes.create_string_buffer(4000)
ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
ctypes.pythonapi.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
USED = b"used_dltensor_versioned"


def check(code: int):
    if code != 0:
        raise RuntimeError(text.value.decode())


def hand_over(tensor, stream: int) -> int:
    """The tensor's DLPack struct, of which the callee becomes the owner."""
    capsule = tensor.__dlpack__(stream=stream, max_version=(1, 2))
    pointer = ctypes.pythonapi.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
    ctypes.pythonapi.PyCapsule_SetName(capsule, USED)
    return pointer


class Model:
    def __init__(self, path: str):
        self.session, rank, shape = ctypes.c_void_p(), ctypes.c_int(), (ctypes.c_int64 * 8)()
        check(tenon.tenon_open(path.encode(), 0, ctypes.byref(self.session), shape, ctypes.byref(rank), text, ctypes.c_size_t(4000)))
        self.shape = tuple(shape[: rank.value])

    def __call__(self, tensor):
        """The first eight numbers of the first output, and how many bytes of the input were copied."""
        stream = torch.cuda.current_stream().cuda_stream or 1  # DLPack's number of the default stream.
        copied, outputs = ctypes.c_uint64(), (ctypes.c_float * 8)()
        check(tenon.tenon_infer(self.session, ctypes.c_void_p(hand_over(tensor, stream)), ctypes.c_ssize_t(stream), ctypes.byref(copied),
                                outputs, ctypes.c_size_t(8), text, ctypes.c_size_t(4000)))
        return list(outputs), copied.value

    def close(self):
        tenon.tenon_close(self.session)


def main() -> int:
    torch.cuda.init()
    model = Model(model_path)
    torch.manual_seed(1)
    plain = torch.rand(model.shape, device="cuda")
    expected, copied = model(plain)
    print(f"torch's allocator: {copied} bytes of {plain.nbytes} copied, on the device")
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library_path, "tenon_malloc", "tenon_free")
    pool = torch.cuda.MemPool(allocator.allocator())
    with torch.cuda.use_mem_pool(pool):
        shared = torch.empty(model.shape, device="cuda")
    failures = 0
    for round_ in range(3):
        shared.copy_(plain * (round_ + 1))  # Work in torch's stream, for which the inference waits.
        outputs, copied = model(shared)
        reference, _ = model(plain * (round_ + 1))
        print(f"Tenon's allocator: {copied} bytes copied; outputs {'agree' if outputs == reference else 'DIFFER'}")
        failures += copied != 0 or outputs != reference
    torch.cuda.synchronize()
    del shared
    model.close()
    print("ok" if failures == 0 and expected is not None else "failed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
