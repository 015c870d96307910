# SPDX-License-Identifier: Apache-2.0
# ./dev bench [NAME]: micro-benchmarks, each beside its floor; JSON beside the build. ./dev bench peers: whole programs and models beside
# their alternatives. ./dev bench zoo: the CPU device beside OpenVINO's in f32, bf16 and int8. ./dev bench graphs: models of many small nodes. ./dev bench gpu: the GPU device beside torch. ./dev bench matrix: which frameworks share memory, on this machine and in the VM.

bench_peers() {
  setup test
  apt_install "${PACKAGES_PEERS[@]}" || echo "dev: without these the naive program is left out" >&2
  configure release -DTENON_BUILD_BENCH=ON
  build release tenon_with_modules tenon_peers
  say "peers: quiet the machine for honest figures; about 6 minutes"
  "$(venv_python)" bench/peers/peers.py --build build/release "$@"
}

bench_zoo() {
  setup test
  configure release -DTENON_BUILD_BENCH=ON
  build release tenon_peers
  say "zoo: quiet the machine for honest figures; about 20 minutes"
  "$(venv_python)" bench/peers/zoo.py --build build/release "$@"
}

# Packs files for a machine that cannot build: those of bench/peers/zoo.py, or the GPU device's tests and its benchmark.
bench_pack() {
  local script=bench/peers/pack.py only=()
  if [ "${1:-}" = gpu ]; then shift; script=bench/gpu/pack.py; fi
  if [ "${1:-} $script" = "--bench bench/gpu/pack.py" ]; then shift; only=(--bench); fi
  [ $# = 1 ] || { echo "usage: ./dev bench pack [gpu [--bench]] FILE.tar.xz" >&2; return 2; }
  setup test
  configure release -DTENON_BUILD_BENCH=ON
  if [ ${#only[@]} != 0 ]; then
    build release gpu_worker gpu_moving_worker
  elif [ "$script" = bench/gpu/pack.py ]; then
    build release && build release gpu_worker gpu_moving_worker && ctest --test-dir build/release -R '^(zoo_tiny|oracle_references)$' >build/release/pack.log || return 1
  else
    build release tenon_peers tenon_device_cpu
  fi
  "$(venv_python)" "$script" --build build/release "${only[@]}" "$1"
}

# Models of many small nodes: the cost of compiling and inferring per node.
bench_graphs() {
  setup test
  configure release -DTENON_BUILD_BENCH=ON
  build release tenon_peers
  say "graphs: about 6 minutes, most of them OpenVINO's and ONNX Runtime's"
  "$(venv_python)" bench/peers/graphs.py --build build/release "$@"
}

# More than one machine: Ray's workers, tenon.serve, brokers.
bench_machines() {
  setup test
  configure release
  build release tenon_python tenon_with_modules tenon_device_cpu
  VENV=build/venv-python pip_install "${PYPI_PYTHON_SLOW[@]}"
  say "machines: quiet the machine for honest figures; about 4 minutes"
  PYTHONPATH=build/release/python TENON_DEVICE_PATH="$PWD/build/release/lib" TENON_ELEMENT_PATH="$PWD/build/release/lib" TENON_TOOL="$PWD/build/release/bin/tenon" \
    build/venv-python/bin/python bench/python/machines.py "$@"
}

# Models with shapes that change from call to call.
bench_moving() {
  setup test
  configure release
  build release moving_tenon moving_openvino
  say "moving: quiet the machine for honest figures; about 2 minutes"
  "$(venv_python)" bench/moving/moving.py --build build/release "$@"
}

# First inference latency, in fresh processes: without a cache, writing it, and through it.
bench_first() {
  setup test
  configure release
  build release first_inference
  "$(venv_python)" models/zoo/generate.py --out build/data/zoo --missing >/dev/null
  "$(venv_python)" bench/first/first.py --program build/release/peers/first_inference --zoo build/data/zoo "$@"
}

# The Python package beside OpenVINO's, PyAV and the tool.
bench_python() {
  setup test
  pip_install av==18.1.0
  configure release
  build release tenon_with_modules tenon_python tenon_device_cpu tenon_elements_ffmpeg tenon_elements_inference
  "$(venv_python)" bench/python/python.py --build build/release --model "$PWD/models/demo.onnx" "$@"
}

# The software NPU beside the CPU device, and Tenon's NPU device beside OpenVINO's NPU plugin on the same driver.
bench_npu() {
  setup test
  configure release -DTENON_BUILD_BENCH=ON
  build release tenon_with_modules tenon_npu_driver tenon_device_npu tenon_device_cpu cpu_worker_tenon cpu_worker_openvino first_inference first_inference_openvino \
    npu_submit_bench
  "$(venv_python)" models/zoo/generate.py --out build/data/zoo --missing >/dev/null
  say "npu: quiet the machine for honest figures; about 10 minutes"
  "$(venv_python)" bench/npu/npu.py --build build/release --zoo build/data/zoo "$@"
}

# OpenVINO's API over Tenon beside OpenVINO's wheel and Tenon's own API: calls, the time of compiling a program, models.
bench_compat() {
  setup test
  configure release -DTENON_BUILD_BENCH=ON
  build release tenon_with_modules tenon_gpu_layer tenon_device_cpu tenon_device_gpu calls_tenon calls_compat calls_openvino cpu_worker_tenon cpu_worker_compat \
    cpu_worker_openvino
  "$(venv_python)" models/zoo/generate.py --out build/data/zoo --missing >/dev/null
  say "compat: quiet the machine for honest figures; about 4 minutes"
  "$(venv_python)" bench/compat/compat.py --build build/release --zoo build/data/zoo "$@"
}

# Video decoded by the software VA-API driver beside ffmpeg's own decoders.
bench_vaapi() {
  setup test
  configure release
  build release tenon_va_driver tenon_render_node
  say "vaapi: quiet the machine for honest figures; about 6 minutes"
  python3 bench/vaapi/vaapi.py "$@"
}

# Streams through a pipeline of elements, compared with GStreamer with OpenVINO and with a program written by hand.
bench_elements() {
  setup test
  apt_install gstreamer1.0-libav  # The peer's decoder.
  configure release -DTENON_BUILD_BENCH=ON
  build release tenon_elements_peers
  say "elements: quiet the machine for honest figures; about 20 minutes; --case streams|zones|places|turns for a part"
  python3 bench/elements/elements.py --build build/release "$@"
}

# Models on the GPU device beside torch: on a machine with an NVIDIA GPU, and torch, torchvision, transformers and onnx in its own python3.
bench_gpu() {
  case " $* " in *" --help "*|*" -h "*|*" --tables "*) python3 bench/gpu/gpu.py "$@"; return ;; esac
  setup test
  configure release
  build release gpu_worker gpu_moving_worker
  say "gpu: about 15 minutes; --only static|moving|decoders for a part"
  python3 bench/gpu/gpu.py --build build/release "$@"
}

# The GPU device on CPUs under OpenCL: host overhead, compiling, and models compared with the CPU device.
bench_gpu_host() {
  setup test
  configure release -DTENON_BUILD_BENCH=ON
  build release gpu_bench host_worker moving_tenon first_inference tenon_device_gpu tenon_device_cpu
  "$(venv_python)" models/zoo/generate.py --out build/data/zoo --missing >/dev/null
  say "gpu-host: quiet the machine for honest figures; about 8 minutes"
  python3 bench/gpu/host.py --build build/release --zoo build/data/zoo "$@"
}

# Every framework that is built, with software drivers if the machine has no others: those of the NPU, VA-API and CUDA, OpenCL
# with the layer that adds external memory, and for SYCL the OpenCL driver of its own release.
matrix_here() {
  local lib="$PWD/build/release/lib" tool="$PWD/build/release/bin/tenon" sycl="$PWD/build/venv-sycl/lib" icd="$PWD/build/icd" with
  with=("ZE_ENABLE_ALT_DRIVERS=$lib/libze_tenon_npu.so" "OPENCL_LAYERS=$lib/libtenon_opencl_external_layer.so"
    "LD_LIBRARY_PATH=$PWD/build/release/tests/cuda" "GST_REGISTRY=$PWD/build/release/gst_matrix.bin")
  if [ -e "$sycl/libintelocl.so" ]; then
    mkdir -p "$icd"
    cp /etc/OpenCL/vendors/*.icd "$icd" 2>/dev/null || true
    echo "$sycl/libintelocl.so" >"$icd/intel.icd"
    with+=("OCL_ICD_VENDORS=$icd" "LD_PRELOAD=$sycl/libtbb.so.12")  # Other frameworks bring an older TBB.
  fi
  env "${with[@]}" "$tool" va-env -- "$tool" matrix --json
}

bench_matrix() {
  local binaries=() script="status=0" targets=(tenon_with_modules tenon_npu_driver tenon_va_driver tenon_render_node)
  setup test
  configure release
  targets+=($(grep -oE '^build tenon_(contexts_[a-z0-9_]+|opencl_external_layer|cuda_stand_in):' build/release/build.ninja | sed 's/^build //; s/://'))
  build release "${targets[@]}"
  mkdir -p out
  matrix_here >out/matrix.json
  source scripts/vm.sh
  rm -f "$VM/matrix.json"
  vm_build && vm_add_matrix && vm_run 600 "$script; exit \$status" "${binaries[@]}" && mv "$VM/out" "$VM/matrix.json"
  python3 scripts/matrix.py "This machine, where a sealed memfd stands in for dma-bufs=out/matrix.json" \
    "A virtual machine with real dma-bufs (Linux 6.12, emulated, so that times mean little)=$VM/matrix.json"
}

bench() {
  local binary
  if [ "${1:-}" = matrix ]; then bench_matrix; return; fi
  if [ "${1:-}" = peers ]; then shift; bench_peers "$@"; return; fi
  if [ "${1:-}" = zoo ]; then shift; bench_zoo "$@"; return; fi
  if [ "${1:-}" = pack ]; then shift; bench_pack "$@"; return; fi
  if [ "${1:-}" = npu ]; then shift; bench_npu "$@"; return; fi
  if [ "${1:-}" = graphs ]; then shift; bench_graphs "$@"; return; fi
  if [ "${1:-}" = gpu ]; then shift; bench_gpu "$@"; return; fi
  if [ "${1:-}" = gpu-host ]; then shift; bench_gpu_host "$@"; return; fi
  if [ "${1:-}" = compat ]; then shift; bench_compat "$@"; return; fi
  if [ "${1:-}" = vaapi ]; then shift; bench_vaapi "$@"; return; fi
  if [ "${1:-}" = elements ]; then shift; bench_elements "$@"; return; fi
  if [ "${1:-}" = python ]; then shift; bench_python "$@"; return; fi
  if [ "${1:-}" = first ]; then shift; bench_first "$@"; return; fi
  if [ "${1:-}" = moving ]; then shift; bench_moving "$@"; return; fi
  if [ "${1:-}" = machines ]; then shift; bench_machines "$@"; return; fi
  setup test
  configure release
  build release all tenon_benches
  mkdir -p out/bench
  local npu="$PWD/build/release/lib/libze_tenon_npu.so"  # Level Zero benchmarks run on the software NPU.
  [ ! -e "$npu" ] || export ZE_ENABLE_ALT_DRIVERS="${ZE_ENABLE_ALT_DRIVERS:-$npu}"
  for binary in build/release/bench/*_bench; do
    [[ -x "$binary" && "$binary" == *"${1:-}"* ]] || continue
    say "$(basename "$binary")"
    # Interleaved, so that a floor and its benchmark see the same moments of a noisy machine.
    "$binary" --benchmark_min_time=0.05 --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true \
      --benchmark_report_aggregates_only=true --benchmark_out="out/bench/$(basename "$binary").json" \
      --benchmark_out_format=json 2>&1 | grep -E '_median|rror'
  done
  python3 scripts/figures.py
}
