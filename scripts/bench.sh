# SPDX-License-Identifier: Apache-2.0
# ./dev bench [NAME]: micro-benchmarks, each beside its floor; JSON beside the build.

bench() {
  setup test
  configure release
  local binary
  build release
  mkdir -p out/bench
  for binary in build/release/bench/*_bench; do
    [[ -x "$binary" && "$binary" == *"${1:-}"* ]] || continue
    say "$(basename "$binary")"
    "$binary" --benchmark_min_time=0.2 --benchmark_repetitions=3 --benchmark_report_aggregates_only=true \
      --benchmark_out="out/bench/$(basename "$binary").json" --benchmark_out_format=json 2>&1 | grep -v '^\*\*\*WARNING'
  done
}
