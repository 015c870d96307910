#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu_tests.sh BUILD nvidia|intel: the tests of OpenCL, CUDA, Vulkan and the GPU device on that vendor's OpenCL alone. 77: there is none here.
# Run by ./dev check gpu, and by users of an archive of ./dev bench pack gpu.
set -euo pipefail
[ $# = 2 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
tests='opencl_test|gpu_(device|pictures|lowering|limits|graphs)_test|device_conformance_test|oracle_gpu_[0-9]_test|onnx_node_tests_gpu_[0-3]|example_(c_gpu(_nv12)?|gpu_(kernel|nv12|queue|umat))'
conformance='*pencl*'
case "$2" in
  intel)
    library="$root/build/venv/lib/libintelocl.so"
    # The runtime uses the CPU's newest instructions, and miscompiles for some CPUs of other vendors.
    export CL_CONFIG_CPU_TARGET_ARCH=core-avx2 ;;
  nvidia)
    library=$(find /usr/local/nvidia /usr/lib -name libnvidia-opencl.so.1 2>/dev/null | sed -n 1p || true)
    tests+='|cuda_(opencl_|dlpack_)?test|vulkan_(opencl_|cuda_)?test|example_(cuda|vulkan)_infer'
    conformance+=':*cuda*:*vulkan*' ;;
  *) echo "gpu_tests: '$2' is neither nvidia nor intel" >&2; exit 2 ;;
esac
[ -e "$library" ] || { echo "gpu_tests: there is no OpenCL of $2's here"; exit 77; }
export OCL_ICD_VENDORS="$build/$2.icd"
echo "$library" >"$OCL_ICD_VENDORS"
[ ! -d "$build/packed" ] || export LD_LIBRARY_PATH="$build/packed"  # Libraries of the machine where it was packed.
log="$build/gpu_tests_$2.log"
failed=0

# An unpacked archive contains the output of the fixtures (the zoo, its references).
fixtures=()
[ -x "$root/build/venv/bin/python" ] || fixtures=(-FA '.*')
ctest --test-dir "$build" --output-on-failure -j 4 --timeout 500 -R "^($tests)\$" "${fixtures[@]}" >"$log" 2>&1 || failed=1
grep -E '^ *[0-9]+/[0-9]+ Test|tests passed' "$log" || { failed=1; tail -20 "$log"; }

"$build/tests/conformance_test" --gtest_filter="$conformance" >"$log.conformance" 2>&1 || failed=1
grep -E '^\[  (PASSED|SKIPPED|FAILED) |tests? ran' "$log.conformance" | grep -E '[0-9]+ test' || { failed=1; tail -20 "$log.conformance"; }

# What needs two devices says here why it was left out, where there is one.
echo "several devices:"
TENON_DEVICE_PATH="$build/lib" "$build/tests/gpu_device_test" --gtest_filter='SeveralGpus.*' >"$log.several" 2>&1 || failed=1
grep -E '^\[ *(OK|SKIPPED|FAILED) *\] SeveralGpus\.' "$log.several" || { failed=1; tail -20 "$log.several"; }
grep -m1 'there is one OpenCL device' "$log.several" || true

if [ "$2" = nvidia ] && python3 -c 'import torch; torch.zeros(1, device="cuda")' 2>/dev/null; then
  echo "torch's memory, in place:"
  python3 "$root/examples/cuda_torch/cuda_torch.py" "$build/lib/libcuda_torch.so" "$root/models/demo.onnx" || failed=1
fi
[ "$failed" = 0 ] || grep -hE -A25 '\[  FAILED  \]|Failure$|what\(\)|Exception|\*\*\*' "$log" "$log.conformance" "$log.several" | head -200
exit "$failed"
