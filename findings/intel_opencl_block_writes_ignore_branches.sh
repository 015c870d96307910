#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Intel's OpenCL runtime for CPUs 2023.2.0 (PyPI intel-opencl-rt) on x86-64: intel_sub_group_block_write within an if is executed by the sub-groups
# that do not take it, too. A work-group of 64 items has 4 sub-groups, of which the first two shall write a row of 16 each: all four rows are
# written. The same with stores of each work-item writes two. With an else that writes other values, all rows get those of the if. Where the
# compiler sees that all work-items agree (a condition of the group's id) the branch counts.
# Guess before the run: two rows by both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check intel-opencl-rt==2023.2.0 intel-cmplr-lib-rt==2023.2.0 pyopencl==2026.1.4 numpy
OCL_ICD_VENDORS="$folder/venv/lib/libintelocl.so" OCL_ICD_FILENAMES="$folder/venv/lib/libintelocl.so" "$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
import pyopencl as cl

SOURCE = """
#define KERNEL __attribute__((intel_reqd_sub_group_size(16))) kernel void
#define ROW get_local_id(0) / 16
KERNEL blocks(global uint* out, uint rows) { if (ROW < rows) intel_sub_group_block_write(out + ROW * 16, 1); }
KERNEL stores(global uint* out, uint rows) { if (ROW < rows) out[ROW * 16 + get_sub_group_local_id()] = 1; }
KERNEL either(global uint* out, uint rows) {
  if (ROW < rows) intel_sub_group_block_write(out + ROW * 16, 1); else intel_sub_group_block_write(out + ROW * 16, 2);
}
KERNEL agreed(global uint* out, uint rows) { if (get_group_id(0) >= rows) intel_sub_group_block_write(out + ROW * 16, 1); }
"""
device = next(each for platform in cl.get_platforms() for each in platform.get_devices() if "Intel" in platform.name)
context = cl.Context([device])
queue = cl.CommandQueue(context)
program = cl.Program(context, SOURCE).build(cache_dir=False)


def rows(name):
    """What the first of each row's numbers is, after the first two rows shall be written."""
    out = np.zeros((4, 16), np.uint32)
    memory = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=out)
    kernel = cl.Kernel(program, name)
    kernel.set_args(memory, np.uint32(2))
    cl.enqueue_nd_range_kernel(queue, kernel, (64,), (64,))
    cl.enqueue_copy(queue, out, memory)
    return out[:, 0].tolist()


found = {name: rows(name) for name in ("blocks", "stores", "either", "agreed")}
print(f"rows: {found}")
assert found == {"blocks": [1, 1, 1, 1], "stores": [1, 1, 0, 0], "either": [1, 1, 1, 1], "agreed": [0, 0, 0, 0]}
PYTHON
