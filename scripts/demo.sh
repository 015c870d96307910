# SPDX-License-Identifier: Apache-2.0
# ./dev demo: from a fresh clone to the picture, on the NPU: a real one, or the software one if there is none.

DEMO_VIDEO=models/demo.mp4
UNAVAILABLE=69  # Exit status of the tool if this machine or release lacks a feature, as opposed to a failure.

# Prints the device on which the demo runs, and says on stderr why it is not the NPU.
demo_device() {
  local lib=build/release/lib missing=()
  [ -e "$lib/libtenon_device_npu.so" ] || missing+=("the NPU device (it needs libze-dev)")
  [ -e "$lib/libze_tenon_npu.so" ] || missing+=("the software NPU")
  if [ ${#missing[@]} -gt 0 ]; then
    printf 'dev: not built: %s; the demo runs on the CPU device\n' "$(IFS=,; echo "${missing[*]}")" >&2
    echo CPU
  elif ! build/release/bin/tenon query models/motion.xml --device NPU >build/demo_npu.log 2>&1; then
    printf 'dev: the NPU cannot be used: %s; the demo runs on the CPU device\n' "$(tail -1 build/demo_npu.log)" >&2
    echo CPU
  else
    echo NPU
  fi
}

# decode_by_va VIDEO DEVICE: the first seconds of the video, decoded into surfaces of the software VA-API driver, which the device
# reads by their descriptors. If a prerequisite is missing, names it instead; any other failure is one of the demo.
decode_by_va() {
  local tenon=build/release/bin/tenon code=0
  if [ ! -e build/release/lib/va/tenon_drv_video.so ]; then
    echo "dev: not built: the software VA-API driver (it needs libva-dev); the demo goes on without it" >&2
    return 0
  fi
  "$tenon" va-env -- "$tenon" run "$1" --model models/demo.onnx --device "$2" --decode va --zero-copy require --max-frames 150 \
    --no-compare --report out/va.json || code=$?
  if [ "$code" = "$UNAVAILABLE" ] && [ "$1" != "$DEMO_VIDEO" ]; then  # The software driver decodes the demo's own video.
    echo "dev: this video is not decoded by VA-API; the demo goes on without it" >&2
    return 0
  fi
  [ "$code" = 0 ] || echo "dev: the demo failed where VA-API decodes ($code)" >&2
  return "$code"
}

demo() {
  local video="${1:-$DEMO_VIDEO}" started=$SECONDS truth=() device
  [ -e "$video" ] || { echo "dev: there is no video '$video'" >&2; return 2; }
  [ "$video" = "$DEMO_VIDEO" ] && truth=(--ground-truth models/demo.json)
  setup demo
  say "building (build/release)"
  # A tree that was configured for tests is used unchanged: its options include the demo's.
  [ -f build/release/build.ninja ] || configure demo
  build release tenon_demo
  mkdir -p out
  device=$(demo_device)
  say "running the detector on $video (ready after $((SECONDS - started)) s)"
  build/release/bin/tenon run "$video" --model models/demo.onnx --device "$device" --zero-copy require \
    --save out/demo.mp4 --report out/demo.json "${truth[@]}"
  say "finding what moves, with a background that the device keeps from frame to frame"
  build/release/bin/tenon run "$video" --model models/motion.xml --device "$device" --zero-copy require \
    --save out/motion.mp4 --report out/motion.json
  say "decoding by VA-API: from the surfaces of the software driver to the device, without a copy"
  decode_by_va "$video" "$device"
  say "annotated videos: out/demo.mp4 and out/motion.mp4, reports: out/demo.json, out/motion.json and out/va.json"
  [ -e build/release/pipeline.schema.json ] || echo "Built is what this took; ./dev build builds the rest: all devices, elements and contexts."
}
