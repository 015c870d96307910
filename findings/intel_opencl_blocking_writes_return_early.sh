#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Intel's OpenCL runtime for CPUs 2023.2.0 (PyPI intel-opencl-rt) on x86-64: in a queue with CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE a
# clEnqueueWriteBuffer of 16 bytes whose blocking_write is CL_TRUE returns before the bytes are there: a read that is enqueued then, and waited for
# by its event, gives what was there before for 150 to nearly all of 1,000 writes. Where the program waits for the write's event as well, all are
# there, and so are those of 4,096 bytes, and those in a queue in order. OpenCL's specification says that a blocking write is over when the call
# returns.
# Guess before the run: all 1,000 in each of the four ways.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check intel-opencl-rt==2023.2.0 intel-cmplr-lib-rt==2023.2.0
LD_LIBRARY_PATH="$folder/venv/lib" OPENCL="$folder/venv/lib/libintelocl.so" "$folder/venv/bin/python" - <<'PYTHON'
import ctypes
import os

opencl = ctypes.CDLL(os.environ["OPENCL"])
ROUNDS = 1000
for name in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer"):
    getattr(opencl, name).restype = ctypes.c_void_p
platform, device, code = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
assert opencl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
assert opencl.clGetDeviceIDs(platform, ctypes.c_uint64(2), 1, ctypes.byref(device), None) == 0  # CL_DEVICE_TYPE_CPU
context = ctypes.c_void_p(opencl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(code)))
assert code.value == 0


def lost(properties, count, waits=False):
    """How many blocking writes of so many bytes a read behind them does not see."""
    queue = ctypes.c_void_p(opencl.clCreateCommandQueue(context, device, ctypes.c_uint64(properties), ctypes.byref(code)))
    assert code.value == 0
    buffer = ctypes.c_void_p(opencl.clCreateBuffer(context, ctypes.c_uint64(1), ctypes.c_size_t(count), None, ctypes.byref(code)))
    assert code.value == 0
    size, back, missing = ctypes.c_size_t(count), ctypes.create_string_buffer(count), 0
    for i in range(ROUNDS):
        given, written, read = bytes([i % 251]) * count, ctypes.c_void_p(), ctypes.c_void_p()
        event = ctypes.byref(written) if waits else None
        assert opencl.clEnqueueWriteBuffer(queue, buffer, 1, ctypes.c_size_t(0), size, given, 0, None, event) == 0
        if waits:
            assert opencl.clWaitForEvents(1, event) == 0
        assert opencl.clEnqueueReadBuffer(queue, buffer, 0, ctypes.c_size_t(0), size, back, 0, None, ctypes.byref(read)) == 0
        assert opencl.clWaitForEvents(1, ctypes.byref(read)) == 0
        missing += back.raw != given
    return missing


found = {"in order": lost(0, 16), "out of order": lost(1, 16), "and the event": lost(1, 16, waits=True), "4096 bytes": lost(1, 4096)}
print(f"of {ROUNDS} blocking writes not there: {found}")
assert found.pop("out of order") > ROUNDS // 20 and not any(found.values()), "it was 150 and more out of order, and none of the others"
PYTHON
