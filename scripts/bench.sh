# SPDX-License-Identifier: Apache-2.0
# ./dev bench [NAME]: micro-benchmarks, each beside its floor; JSON beside the build. ./dev bench peers: whole programs and models beside
# what else one would use.

bench_peers() {
  setup test
  apt_install "${PACKAGES_PEERS[@]}" || echo "dev: without these the naive program is left out" >&2
  configure release -DTENON_BUILD_BENCH=ON
  build release tenon tenon_peers
  say "peers: quiet the machine for honest figures; about 6 minutes"
  "$(venv_python)" bench/peers/peers.py --build build/release "$@"
}

bench() {
  local binary
  if [ "${1:-}" = peers ]; then shift; bench_peers "$@"; return; fi
  setup test
  configure release
  build release
  mkdir -p out/bench
  for binary in build/release/bench/*_bench; do
    [[ -x "$binary" && "$binary" == *"${1:-}"* ]] || continue
    say "$(basename "$binary")"
    # Interleaved: a floor and what stands on it see the same moments of a noisy machine.
    "$binary" --benchmark_min_time=0.05 --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true \
      --benchmark_report_aggregates_only=true --benchmark_out="out/bench/$(basename "$binary").json" \
      --benchmark_out_format=json 2>&1 | grep -E '_median|rror'
  done
  python3 scripts/figures.py
}
