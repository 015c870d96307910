# SPDX-License-Identifier: Apache-2.0
# ./dev test-vm: runs tests under a kernel that has udmabuf, dma-buf heaps, vgem and cameras (vivid), in QEMU without any acceleration.
# Sourced by ./dev. The VM is built once in build/vm: a Debian kernel (downloaded and unpacked, never installed) and an initial
# file system of busybox, the kernel's modules and a tiny init. Each run appends the binaries with their libraries.

VM="build/vm"
# vgem: a DRM node. vivid: cameras that the kernel simulates; the second gives several buffers per picture, and a test unplugs the
# third.
VM_MODULES=(vgem vivid)
VM_VIVID="n_devs=3 node_types=0x1,0x1,0x1 multiplanar=1,2,1"
# Folders of the kernel package that contain these modules and their dependencies.
VM_FOLDERS=('modules.*' 'kernel/drivers/gpu/drm/*.ko*' kernel/drivers/gpu/drm/vgem kernel/drivers/dma-buf 'kernel/drivers/video/*.ko*'
  kernel/drivers/video/fbdev/core kernel/drivers/media/{common,mc,cec,v4l2-core,test-drivers} 'kernel/drivers/media/rc/*.ko*')
VM_KERNEL_WANTED=6.12    # 6.1 has neither udmabuf nor heaps.
VM_UNAVAILABLE=77        # "The packages are not available", as opposed to a failure.

vm_missing() { echo "vm: not available: $*" >&2; return "$VM_UNAVAILABLE"; }

# The source of this Debian's packages: the SITE of its suite.
vm_mirror() {
  local codename="$1"
  apt-get indextargets --format '$(CODENAME) $(SITE)' 'Identifier: Packages' 2>/dev/null | awk -v c="$codename" '$1 == c {print $2; exit}'
}

# Sets VM_APT to the options of an apt with a linux-image-amd64 that is new enough: this system's, or one with backports in
# separate lists. The host's configuration is not changed.
vm_find_apt() {
  local version codename mirror root="$PWD/$VM/apt"
  VM_APT=()
  version=$(apt-cache policy linux-image-amd64 2>/dev/null | awk '/Candidate:/ {print $2}')
  [ -n "$version" ] && dpkg --compare-versions "$version" ge "$VM_KERNEL_WANTED" && return 0
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  mirror=$(vm_mirror "$codename")
  [ -n "$mirror" ] || { vm_missing "apt knows no mirror of Debian '$codename' to take a kernel >= $VM_KERNEL_WANTED from"; return; }
  mkdir -p "$root/lists/partial" "$root/cache/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $codename-backports main" >"$root/sources.list"
  VM_APT=(-o "Dir::Etc::sourcelist=$root/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$root/lists"
    -o "Dir::Cache=$root/cache" -o APT::Sandbox::User=root)
  apt-get update -qq "${VM_APT[@]}" >"$VM/apt.log" 2>&1 ||
    { tail -3 "$VM/apt.log" >&2; vm_missing "the lists of $codename-backports cannot be read"; return; }
  version=$(apt-cache policy "${VM_APT[@]}" linux-image-amd64 2>/dev/null | awk '/Candidate:/ {print $2}')
  { [ -n "$version" ] && dpkg --compare-versions "$version" ge "$VM_KERNEL_WANTED"; } ||
    vm_missing "$codename-backports has linux-image-amd64 '$version', $VM_KERNEL_WANTED is needed"
}

# Downloads the kernel package and unpacks the needed parts of it into build/vm/kernel.
vm_fetch_kernel() {
  [ "$(cat "$VM/kernel/.complete" 2>/dev/null)" = "${VM_FOLDERS[*]}" ] && return 0
  local package
  vm_find_apt || return
  # The meta package depends on the one kernel that is current.
  package=$(apt-cache depends "${VM_APT[@]}" linux-image-amd64 | awk '/Depends:/ {print $2; exit}')
  say "kernel for the VM (unpacked, not installed): $package"
  rm -rf "$VM/kernel" "$VM"/linux-image-*.deb
  # Lists older than the mirror name removed files: try once more with fresh lists.
  (cd "$VM" && apt-get download -qq "${VM_APT[@]}" "$package") >>"$VM/apt.log" 2>&1 ||
    (as_root apt-get update -qq "${VM_APT[@]}" && cd "$VM" && apt-get download -qq "${VM_APT[@]}" "$package") >>"$VM/apt.log" 2>&1 ||
    { tail -3 "$VM/apt.log" >&2; vm_missing "$package cannot be downloaded"; return; }
  mkdir -p "$VM/kernel"
  # Only the folders of the modules and their dependencies: indexing all of them would take a minute.
  local folder wanted=('./boot/vmlinuz-*')
  for folder in "${VM_FOLDERS[@]}"; do wanted+=("./lib/modules/*/$folder" "./usr/lib/modules/*/$folder"); done
  dpkg-deb --fsys-tarfile "$VM"/linux-image-*.deb |
    tar -x -C "$VM/kernel" --wildcards --no-wildcards-match-slash "${wanted[@]}" 2>/dev/null || true  # Not all match.
  [ -d "$VM/kernel/usr/lib/modules" ] && { mkdir -p "$VM/kernel/lib"; ln -sfn ../usr/lib/modules "$VM/kernel/lib/modules"; }
  rm -f "$VM"/linux-image-*.deb
  ls "$VM"/kernel/boot/vmlinuz-* >/dev/null && echo "${VM_FOLDERS[*]}" >"$VM/kernel/.complete"
}

# build/vm/m2m: vim2m, a scaler that the kernel simulates, and the modules that it needs. Debian's kernel has neither, so they are
# built from its sources of 165 MB, only if TENON_VM_M2M is set.
vm_build_m2m() {
  [ -n "${TENON_VM_M2M:-}" ] || return 0
  [ ! -f "$VM/m2m/vim2m.ko" ] || return 0
  local version base work="$PWD/$VM/m2m.part" package kernel
  version=$(cd "$VM/kernel/lib/modules" && ls | head -1)
  base=${version%-*}  # 6.12.95+deb12-amd64: the headers' common part has no -amd64.
  vm_find_apt || return
  rm -rf "$work"
  mkdir -p "$work/root" "$work/modules"
  say "sources of the kernel for vim2m"
  (cd "$work" && apt-get download -qq "${VM_APT[@]}" "linux-headers-$version" "linux-headers-$base-common" "linux-kbuild-$base" \
    "linux-source-${version%.*}") >>"$VM/apt.log" 2>&1 || { vm_missing "the sources of Linux $version"; return; }
  for package in "$work"/linux-headers-*.deb "$work"/linux-kbuild-*.deb; do dpkg-deb -x "$package" "$work/root"; done
  dpkg-deb --fsys-tarfile "$work"/linux-source-*.deb | tar -xO --wildcards '*/linux-source-*.tar.xz' | xz -dc |
    tar -x -C "$work/modules" --strip-components=4 --wildcards '*/drivers/media/test-drivers/vim2m.c' '*/drivers/media/v4l2-core/v4l2-mem2mem.c'
  echo 'obj-m += v4l2-mem2mem.o vim2m.o' >"$work/modules/Makefile"
  kernel="$work/root/usr/src/linux-headers-$version"
  sed -i "s#/usr/src/#$work/root/usr/src/#" "$kernel/Makefile"
  rm -f "$kernel/vmlinux"  # Only for debug information, which needs pahole.
  make -C "$kernel" M="$work/modules" modules >"$VM/m2m.log" 2>&1 || { tail -5 "$VM/m2m.log" >&2; return 1; }
  mkdir -p "$VM/m2m" && mv "$work"/modules/*.ko "$VM/m2m/" && rm -rf "$work"
}

# The uncompressed kernel: unpacking it inside the VM would cost seconds in each run.
vm_unpack_kernel() {
  python3 - "$1" "$2" <<'PYTHON'
import lzma, struct, subprocess, sys, zlib
data = open(sys.argv[1], "rb").read()
# The boot protocol's header has the offset of the payload (Documentation/arch/x86/boot.rst: setup_sects, payload_offset,
# payload_length).
start = ((data[0x1f1] or 4) + 1) * 512 + struct.unpack_from("<I", data, 0x248)[0]
payload = data[start:start + struct.unpack_from("<I", data, 0x24c)[0]]
if payload.startswith(b"\xfd7zXZ\0"):
    kernel = lzma.LZMADecompressor().decompress(payload)
elif payload.startswith(b"\x1f\x8b"):
    kernel = zlib.decompressobj(31).decompress(payload)
elif payload.startswith(b"\x28\xb5\x2f\xfd"):
    kernel = subprocess.run(["zstd", "-dc"], input=payload[:-4], stdout=subprocess.PIPE, check=True).stdout  # 4 bytes of size follow.
else:
    kernel = data  # Another compression: QEMU takes the image as it is, only slower.
open(sys.argv[2], "wb").write(kernel)
PYTHON
}

vm_write_init() {
  cat >"$1" <<'INIT'
#!/bin/busybox sh
# Loads the modules, runs /vm/run with its output on the first serial line, and reports its exit code on the second.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm
while read -r module parameters; do insmod "/modules/$module" $parameters; done </modules/order
for line in /dev/ttyS0 /dev/ttyS1 /dev/ttyS2; do stty raw <$line; done
echo booted >/dev/ttyS1
/vm/run >/dev/ttyS0 2>&1
echo "exit $?" >/dev/ttyS1
echo 0 >/proc/sys/kernel/printk; poweroff -f
INIT
  chmod +x "$1"
}

# build/vm/vmlinux and build/vm/base.cpio, made once.
vm_build() {
  [ "$VM/base.cpio" -nt scripts/vm.sh ] && [ -f "$VM/vmlinux" ] && return 0
  mkdir -p "$VM"
  command -v apt-get >/dev/null || { vm_missing "this is no Debian, whose kernel it takes"; return; }
  [ "$(uname -m)" = x86_64 ] || { vm_missing "it emulates x86-64, whose binaries a $(uname -m) does not build"; return; }
  local PATH="$PATH:/usr/sbin:/sbin"  # depmod and modprobe are not on every user's path.
  apt_install "${PACKAGES_VM[@]}" || { vm_missing "Debian packages ${PACKAGES_VM[*]}"; return; }
  vm_fetch_kernel || return
  local root="$PWD/$VM/root" version module file
  version=$(cd "$VM/kernel/lib/modules" && ls | head -1)
  vm_unpack_kernel "$VM/kernel/boot/vmlinuz-$version" "$VM/vmlinux" || return 1
  rm -rf "$root"
  mkdir -p "$root"/{bin,dev,proc,sys,tmp,modules,vm,usr/lib,usr/lib64}
  ln -s usr/lib "$root/lib"; ln -s usr/lib64 "$root/lib64"
  cp "$(command -v busybox)" "$root/bin/busybox"
  depmod -b "$VM/kernel" "$version"
  for module in "${VM_MODULES[@]}"; do
    modprobe -d "$VM/kernel" -S "$version" --show-depends "$module" | awk '$1 == "insmod" {print $2}'
  done | awk '!seen[$0]++' | while read -r file; do
    xz -dc "$file" >"$root/modules/$(basename "${file%.xz}")" 2>/dev/null || cp "$file" "$root/modules/"
    case "$file" in */vivid.ko*) echo "vivid.ko $VM_VIVID" ;; *) basename "${file%.xz}" ;; esac >>"$root/modules/order"
  done
  [ -s "$root/modules/order" ] || { echo "vm: the kernel package has none of the modules ${VM_MODULES[*]}" >&2; return 1; }
  vm_write_init "$root/init"
  (cd "$root" && find . | cpio -o -H newc --quiet) >"$VM/base.cpio.part" && mv "$VM/base.cpio.part" "$VM/base.cpio"
}

# Copies a binary and its libraries into a tree, each to the path that it has here. Debian's /lib is /usr/lib.
vm_pack() {
  local tree="$1" file
  { echo "$2"; ldd "$2" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $3} $1 ~ /^\// {print $1}'; } | while read -r file; do
    local place="$file"
    case "$file" in /lib/*|/lib64/*) place="/usr$file" ;; esac
    [ -e "$tree$place" ] || { mkdir -p "$tree$(dirname "$place")"; cp -L "$file" "$tree$place"; }
  done
}

# vm_run SECONDS SCRIPT BINARY...: boots, runs the shell script SCRIPT with the binaries there, prints its output and returns its exit
# code. Output of the script to /dev/ttyS2 is then in build/vm/out. 98: it did not end within SECONDS, or the VM died. A kernel
# that dies before the script begins is booted again: an emulated CPU sometimes runs a half-patched instruction of the kernel's.
vm_run() {
  local seconds="$1" script="$2" work binary result tries=3
  shift 2
  work=$(mktemp -d "$PWD/$VM/run.XXXXXX")
  mkdir -p "$work/tree/vm"
  for binary in "$@"; do vm_pack "$work/tree" "$(readlink -f "$binary")"; done
  if [ -f "$VM/m2m/vim2m.ko" ]; then  # Takes the place of the list in base.cpio.
    mkdir -p "$work/tree/modules"
    cp "$VM"/m2m/*.ko "$work/tree/modules/"
    { cat "$VM/root/modules/order"; printf '%s\n' v4l2-mem2mem.ko vim2m.ko; } >"$work/tree/modules/order"
  fi
  printf '#!/bin/busybox sh\ncd /tmp\n%s\n' "$script" >"$work/tree/vm/run"
  chmod +x "$work/tree/vm/run"
  (cd "$work/tree" && find . | cpio -o -H newc --quiet) >"$work/tree.cpio"
  cat "$VM/base.cpio" "$work/tree.cpio" >"$work/initrd"
  rm -rf "$work/tree" "$work/tree.cpio"
  # TCG, since most CI machines are virtual already. The initial file system is in memory twice while it is unpacked.
  while [ "$((tries--))" -gt 0 ]; do
    timeout -k 5 "$seconds" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -M q35 -smp 2 -nodefaults -display none -no-reboot \
      -m "$((768 + 3 * $(stat -c %s "$work/initrd") / 1048576))" -serial stdio -serial "file:$work/exit" -serial "file:$work/out" \
      -kernel "$VM/vmlinux" -initrd "$work/initrd" \
      -append "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check tsc=reliable random.trust_cpu=on" </dev/null || true
    ! grep -q booted "$work/exit" 2>/dev/null || break
    echo "vm: the kernel did not boot" >&2
  done
  result=$(awk '$1 == "exit" {print $2}' "$work/exit" 2>/dev/null | tr -d '\r')
  tr -d '\r' <"$work/out" >"$VM/out"
  rm -rf "$work"
  [ -n "$result" ] || { echo "vm: it did not end within $seconds s, or it died: no exit code came back" >&2; return 98; }
  return "$result"
}

# Dependencies of GStreamer and its VA elements on the software driver, for a vm_suite that has its own library path in `lib`.
VM_GST_VA=(coreelements coretracers app isomp4 videoparsersbad va videotestsrc videoconvertscale)

# Adds the tests of GStreamer's VA elements, and with VM_PROGRAMS those with devices and OpenVINO: decoded frames are in real
# dma-bufs there.
vm_add_gstreamer_va() {
  local plugin needed=()
  local filter='-VaElements.DecodedSurfacesReachModels*:VaElements.GstVaapiDmaOpencl*:VaPlugin.*'  # Models take minutes: emulated.
  for plugin in "${VM_GST_VA[@]}"; do needed+=("$plugins/libgst$plugin.so"); done
  [ -x "$tests/gstreamer_va_test" ] || return 0
  [ -z "${VM_PROGRAMS:-}" ] || filter='-VaPlugin.*'  # Tenon's own GStreamer plugin is not taken along.
  for plugin in "${needed[@]}"; do [ -e "$plugin" ] || { echo "vm: no $plugin: gstreamer_va_test is left out" >&2; return 0; }; done
  binaries+=("$tests/gstreamer_va_test" "${needed[@]}" "$PWD"/models/{demo.mp4,demo.onnx})
  [ ! -e "$lib/libtenon_device_cpu.so" ] || binaries+=("$lib/libtenon_device_cpu.so")
  [ ! -e "$lib/libtenon_device_npu.so" ] || binaries+=("$lib/libtenon_device_npu.so")
  for plugin in "$PWD"/build/venv/lib/python3*/site-packages/openvino/libs/libopenvino_intel_cpu_plugin.so; do
    [ ! -e "$plugin" ] || binaries+=("$plugin")
  done
  script+="
    GST_REGISTRY=/tmp/gst_va.bin GST_REGISTRY_FORK=no GST_VA_ALL_DRIVERS=1 TENON_MODELS=$PWD/models XDG_CACHE_HOME=/tmp $with \\
      $tests/gstreamer_va_test --gtest_filter='$filter' || status=1"
}

# Adds third-party programs: ffmpeg, vainfo and GStreamer's tools, with one clip of each kind, made here. Minutes: emulated.
vm_add_va_programs() {
  local clips="$PWD/build/release/cmake/drivers/vaapi/clips" program plugin
  [ -x "$tests/va_programs_test" ] || return 0
  for program in ffmpeg vainfo gst-launch-1.0 gst-inspect-1.0; do
    command -v "$program" >/dev/null || { echo "vm: no $program: va_programs_test is left out" >&2; return 0; }
    binaries+=("$(command -v "$program")")
  done
  for plugin in "${VM_GST_VA[@]}" typefindfunctions matroska avi jpegformat; do binaries+=("$plugins/libgst$plugin.so"); done
  ctest --test-dir build/release -R '^va_programs_test$' >"$VM/programs.log" 2>&1 || { tail -30 "$VM/programs.log"; return 1; }  # Makes the clips.
  binaries+=("$tests/va_programs_test" "$clips"/*.*)
  script+="
    PATH=/bin:/usr/bin GST_REGISTRY_FORK=no GST_VA_ALL_DRIVERS=1 TENON_RENDER_NODE=$va/libtenon_render_node.so TENON_VA_CLIPS=$clips \\
      $tests/va_programs_test --gtest_filter='$VM_PROGRAMS' || status=1"
}

# Adds `tenon matrix` of every framework to `script`, and its files to `binaries`: on the software drivers, and on PoCL with the
# layer that adds external memory. SYCL has no device there: the OpenCL driver of its release is too large to be packed.
vm_add_matrix() {
  local lib="$PWD/build/release/lib" tool="$PWD/build/release/bin/tenon" cuda="$PWD/build/release/tests/cuda" pocl run
  local with="GST_REGISTRY=/tmp/gst.bin GST_REGISTRY_FORK=no"
  run="$tool"
  pocl=$(readlink -f /usr/lib/x86_64-linux-gnu/libpocl.so.2 || true)
  binaries+=("$tool" "$lib"/libtenon_contexts_*.so)
  if [ -e "$lib/libze_tenon_npu.so" ]; then
    binaries+=("$lib/libze_tenon_npu.so")
    with+=" ZE_ENABLE_ALT_DRIVERS=$lib/libze_tenon_npu.so"
  fi
  if [ -e "$cuda/libcuda.so.1" ]; then
    binaries+=("$cuda/libcuda.so.1")
    with+=" LD_LIBRARY_PATH=$cuda"
  fi
  if [ -e "$lib/libtenon_opencl_external_layer.so" ] && [ -e "$pocl" ]; then
    binaries+=("$lib/libtenon_opencl_external_layer.so" $(vm_pocl_files))
    script+="; ln -sf $(readlink -f "$(command -v ld)") /bin/ld"
    with+=" OCL_ICD_VENDORS=$pocl OPENCL_LAYERS=$lib/libtenon_opencl_external_layer.so XDG_CACHE_HOME=/tmp"
  fi
  if [ -e "$lib/va/tenon_drv_video.so" ]; then
    binaries+=("$lib"/va/{tenon_drv_video,libtenon_render_node}.so)
    run="$tool va-env -- $tool"
  fi
  script+="; $with $run matrix --json >/dev/ttyS2 2>/tmp/matrix.log || { status=1; tail -5 /tmp/matrix.log; }"  # It shows progress on a terminal.
}

# vm_due SHARE...: whether the parts that have these shares are due. VM_SHARE (0..3) names one share; without it, or with "all", each is due.
vm_due() { [ "${VM_SHARE:-all}" = all ] || [[ " $* " == *" $VM_SHARE "* ]]; }

# The tests that know about dma-bufs, and the matrix, in one boot. vm_suite SECONDS FILTER [BINARY...]: FILTER is the conformance
# suite's; further test binaries run whole. What takes minutes in emulation comes in shares: 0 cameras through the tool, 1 GStreamer, 2 OpenCL,
# whose kernels are compiled there, 3 VA-API with OpenCL.
vm_suite() {
  local seconds="$1" filter="$2" tests="$PWD/build/release/tests" tool="$PWD/build/release/bin/tenon" script binary
  shift 2
  local binaries=("$tests/dmabuf_test" "$tests/conformance_test" "$@")
  script="status=0; export GTEST_BRIEF=1 GTEST_COLOR=no
    $tests/dmabuf_test || status=1
    $tests/conformance_test --gtest_filter='$filter' || status=1"
  for binary in "$@"; do script+="; $binary || status=1"; done
  # Requests that are given dma-bufs; missing if runtime or dmabuf is off.
  local lib="$PWD/build/release/lib" npu=""
  local driver="$lib/libze_tenon_npu.so"  # A Level Zero driver imports and exports real dma-bufs.
  if [ -x "$tests/dmabuf_request_test" ]; then
    binaries+=("$tests/dmabuf_request_test")
    if [ -e "$driver" ] && [ -e "$lib/libtenon_device_npu.so" ]; then  # Otherwise its tests of the NPU skip.
      binaries+=("$driver" "$lib/libtenon_device_npu.so")
      npu="TENON_DEVICE_PATH=$lib ZE_ENABLE_ALT_DRIVERS=$driver"
    fi
    script+="; $npu $tests/dmabuf_request_test || status=1"
  fi
  if [ -e "$driver" ] && [ -x "$tests/level_zero_test" ]; then
    binaries+=("$driver" "$tests/level_zero_test")
    script+="; ZE_ENABLE_ALT_DRIVERS=$driver $tests/level_zero_test || status=1
      ZE_ENABLE_ALT_DRIVERS=$driver $tests/conformance_test --gtest_filter='*dmabuf*evel_zero*' || status=1"
  fi
  if [ -x "$tests/vivid_test" ]; then  # Missing if v4l2 is off.
    binaries+=("$tests/vivid_test")
    [ ! -f "$VM/m2m/vim2m.ko" ] || script+="; export TENON_EXPECT_M2M=1"
    script+="; TENON_EXPECT_VIVID=1 $tests/vivid_test || status=1"
    if [ -x "$tests/elements_camera_test" ] && vm_due 0; then
      binaries+=("$tests/elements_camera_test" "$lib/libtenon_elements_v4l2.so")
      script+="; TENON_EXPECT_VIVID=1 $tests/elements_camera_test || status=1"
    fi
    if [ -x "$tests/tool_test" ] && [ -e "$lib/libtenon_device_cpu.so" ] && vm_due 0; then  # From a camera to devices, by the tool.
      binaries+=("$tool" "$tests/tool_test" "$lib/libtenon_device_cpu.so" "$PWD"/models/{motion.xml,motion.bin,colour.xml,colour.bin,demo.onnx})
      local cameras='RunCamera.*'
      if [ -e "$lib/libtenon_elements_v4l2.so" ] && [ -e "$lib/libtenon_elements_inference.so" ] && [ -e "$lib/libtenon_elements_publish.so" ]; then
        binaries+=("$lib"/libtenon_elements_{v4l2,inference,publish}.so)
        cameras+=':PipelineCamera.*'
      fi
      [ ! -e "$driver" ] || { npu=1; binaries+=("$lib/libtenon_device_npu.so" "$driver"); }
      script+="; TENON_EXPECT_VIVID=1 TENON_TOOL=$tool TENON_SOURCE_DIR=$PWD ${npu:+TENON_HAS_SOFTWARE_NPU=1} \
        $tests/tool_test --gtest_filter='$cameras' || status=1"
    fi
  fi
  # GStreamer, with the plugins that its tests use and a camera.
  local plugins=/usr/lib/x86_64-linux-gnu/gstreamer-1.0
  if [ -x "$tests/gstreamer_test" ] && [ -e "$plugins/libgstvideo4linux2.so" ] && vm_due 1; then
    binaries+=("$tests/gstreamer_test" "$plugins"/libgst{coreelements,coretracers,app,videotestsrc,videoconvertscale,audiotestsrc,audioconvert,audioresample,video4linux2}.so)
    script+="; GST_REGISTRY=/tmp/gst.bin GST_REGISTRY_FORK=no TENON_CAMERA=/dev/video0 $tests/gstreamer_test || status=1"
  fi
  # Tenon's elements in GStreamer, with dma-bufs that are announced as such.
  local plugin="$lib/gstreamer-1.0/libgsttenon.so"
  if [ -x "$tests/gst_plugin_test" ] && [ -e "$plugin" ] && vm_due 1; then
    binaries+=("$tests/gst_plugin_test" "$plugin" "$plugins/libgstcoreelements.so")
    script+="; GST_REGISTRY=/tmp/gst_plugin.bin GST_REGISTRY_FORK=no GST_PLUGIN_PATH=$lib/gstreamer-1.0 TENON_EXPECT_DMABUFS=1 \
      $tests/gst_plugin_test --gtest_filter='GstDmabuf.*' || status=1"
  fi
  # OpenCL imports them behind the layer that adds external memory to PoCL.
  local layer="$lib/libtenon_opencl_external_layer.so" pocl
  pocl=$(readlink -f /usr/lib/x86_64-linux-gnu/libpocl.so.2 || true)
  if [ -e "$layer" ] && [ -x "$tests/opencl_test" ] && [ -e "$pocl" ] && vm_due 2 3; then
    binaries+=("$layer" "$tests/opencl_test" $(vm_pocl_files))
    script+="; ln -sf $(readlink -f "$(command -v ld)") /bin/ld
      export OCL_ICD_VENDORS=$pocl XDG_CACHE_HOME=/tmp; export OPENCL_LAYERS=$layer
      $tests/opencl_test --gtest_filter='ImportFd.*:DmabufEdges.*:ExternalTest.*:OutOfOrder.*' || status=1
      $tests/conformance_test --gtest_filter='*dmabuf*opencl_buffer*' || status=1
      unset OPENCL_LAYERS OCL_ICD_VENDORS"
  fi
  # VA-API: the software driver's surfaces, on vgem's render node, and decoded frames with the NPU and OpenCL.
  local va="$lib/va" with="ZE_ENABLE_ALT_DRIVERS=$driver" without="-"
  if [ -x "$tests/va_test" ] && [ -e "$va/tenon_drv_video.so" ] && vm_due 3; then
    binaries+=("$va"/{tenon_drv_video,libtenon_render_node}.so "$tests"/va_{test,driver_test})
    if [ -e "$layer" ] && [ -e "$pocl" ]; then with+=" OCL_ICD_VENDORS=$pocl OPENCL_LAYERS=$layer"; else without+="*Opencl*:"; fi
    [ -e "$driver" ] || without+="*Usm*"
    [ ! -e "$lib/libtenon_device_gpu.so" ] || { binaries+=("$lib/libtenon_device_gpu.so"); with+=" TENON_DEVICE_PATH=$lib"; }
    if [ -e "$lib/libtenon_elements_vaapi.so" ] && [ -e "$lib/libtenon_elements_ffmpeg.so" ]; then
      binaries+=("$lib"/libtenon_elements_{vaapi,ffmpeg}.so)
    else
      without+=":*VaPipelines*"
    fi
    script+="; export LIBVA_DRIVERS_PATH=$va LIBVA_DRIVER_NAME=tenon LIBVA_MESSAGING_LEVEL=0 TENON_EXPECT_DMABUFS=1
      $tests/va_driver_test || status=1
      $with $tests/va_test --gtest_filter='$without' || status=1
      LD_PRELOAD=$va/libtenon_render_node.so $tests/conformance_test --gtest_filter='*vaapi*' || status=1"
    vm_add_gstreamer_va
    [ -z "${VM_PROGRAMS:-}" ] || vm_add_va_programs
    script+="
      unset LIBVA_DRIVERS_PATH LIBVA_DRIVER_NAME LIBVA_MESSAGING_LEVEL TENON_EXPECT_DMABUFS"
  fi
  [ ! -x "$tool" ] || vm_add_matrix
  script+="; exit \$status"
  vm_run "$seconds" "$script" "${binaries[@]}" || return
  [ ! -x "$tool" ] || mv "$VM/out" "$VM/matrix.json"
}

# The files that PoCL opens and runs when it compiles a kernel, in addition to the libraries that it is linked with.
vm_pocl_files() {
  local gcc
  gcc=$(dirname "$(gcc -print-libgcc-file-name)")
  dpkg -L pocl-opencl-icd libpocl2 libpocl2-common 2>/dev/null |
    grep -E '/libpocl[^/]*\.so\.[0-9.]+$|/pocl/.*\.so$|\.icd$|/pocl/include/|-(GENERIC|sse41|avx2)\.bc$'
  printf '%s\n' /usr/bin/ld "$gcc"/{libgcc.a,libgcc_s.so,crtbegin.o,crtbeginS.o} /usr/lib/x86_64-linux-gnu/{libc.so,libc_nonshared.a,libm.so,libmvec.so.1,libgcc_s.so.1}
}

# One descriptor through OpenCL, the NPU and OpenCV, with descriptors that are real dma-bufs. vm_one_fd SECONDS
vm_one_fd() {
  local lib="$PWD/build/release/lib" file files=() result=0
  while read -r file; do [ -f "$file" ] && files+=("$file"); done < <(vm_pocl_files)
  vm_run "$1" "export GTEST_BRIEF=1 GTEST_COLOR=no HOME=/tmp PATH=/bin:/usr/bin POCL_CACHE_DIR=/tmp/pocl TENON_DEVICE_PATH=$lib
    [ -e /usr/bin/ld ] || ln -s $(basename "$(readlink -f /usr/bin/ld)") /usr/bin/ld
    export ZE_ENABLE_ALT_DRIVERS=$lib/libze_tenon_npu.so
    LD_PRELOAD=$lib/libtenon_copy_watch.so exec $PWD/build/release/tests/one_fd_test" \
    "$PWD/build/release/tests/one_fd_test" "$lib"/lib{tenon_device_npu,ze_tenon_npu,tenon_copy_watch}.so "${files[@]}" \
    >"$VM/one_fd.log" || result=$?
  cat "$VM/one_fd.log"
  [ "$result" = 0 ] || return "$result"
  # A skipped test shows nothing.
  grep -q 'proved on dma-bufs' "$VM/one_fd.log" || { echo "vm: one_fd_test found no OpenCL, no NPU or no dma-bufs there" >&2; return 1; }
}

# ./dev test-vm [BINARY [ARGUMENTS...]]
test_vm() {
  vm_build || return
  vm_build_m2m || return
  if [ $# -gt 0 ]; then
    [ -x "$1" ] || { echo "vm: '$1' is no program; build it first: ./dev build release $(basename "$1")" >&2; return 2; }
    vm_run "${TENON_VM_SECONDS:-300}" "exec $(printf '%q ' "$(readlink -f "$1")" "${@:2}")" "$1"
    return
  fi
  local targets=(dmabuf_test conformance_test tenon_with_modules)
  setup test
  configure release || return 1
  grep -q '^build vivid_test:' build/release/build.ninja && targets+=(vivid_test tool_test)  # Missing if v4l2 is off.
  grep -q '^build elements_camera_test:' build/release/build.ninja && targets+=(elements_camera_test)
  grep -q '^build gstreamer_test:' build/release/build.ninja && targets+=(gstreamer_test)
  grep -q '^build gst_plugin_test:' build/release/build.ninja && targets+=(gst_plugin_test)
  grep -q '^build va_test:' build/release/build.ninja && targets+=(va_test va_driver_test)
  grep -q '^build gstreamer_va_test:' build/release/build.ninja && targets+=(gstreamer_va_test)
  grep -q '^build va_programs_test:' build/release/build.ninja && targets+=(va_programs_test)
  grep -q '^build one_fd_test:' build/release/build.ninja && targets+=(one_fd_test)  # Missing if OpenCL or the NPU is off.
  grep -q '^build dmabuf_request_test:' build/release/build.ninja && targets+=(dmabuf_request_test)
  build release "${targets[@]}" || return 1
  vm_suite "${TENON_VM_SECONDS:-900}" "${TENON_VM_FILTER:-*}" || return
  [[ " ${targets[*]} " != *" one_fd_test "* ]] || vm_one_fd "${TENON_VM_SECONDS:-900}"
}
