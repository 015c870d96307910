# SPDX-License-Identifier: Apache-2.0
# ./dev demo: from a fresh clone to the picture.

demo() {
  local video="${1:-models/demo.mp4}" started=$SECONDS truth=()
  [ -e "$video" ] || { echo "dev: there is no video '$video'" >&2; return 2; }
  [ "$video" = models/demo.mp4 ] && truth=(--ground-truth models/demo.json)
  setup demo
  say "building (build/release)"
  # A tree that tests already configured is used as it is: its options include the demo's.
  [ -f build/release/build.ninja ] || configure demo
  build release tenon_demo
  mkdir -p out
  say "running the detector on $video (ready after $((SECONDS - started)) s)"
  build/release/bin/tenon run "$video" --model models/demo.onnx --device CPU --zero-copy require \
    --save out/demo.mp4 --report out/demo.json "${truth[@]}"
  say "annotated video: out/demo.mp4, report: out/demo.json"
}
