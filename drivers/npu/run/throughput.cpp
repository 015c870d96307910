// SPDX-License-Identifier: Apache-2.0
// Measures operations per second: a product of 8-bit matrices on as many threads as the device has.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include <tenon/drivers/npu/objects/wait.hpp>
#include <tenon/drivers/npu/run/throughput.hpp>
#include <tenon/engine/engine.hpp>

namespace tenon::npu {
namespace {

constexpr dnnl::memory::dim kSize = 384;  // Side length: takes a millisecond, yet keeps all threads busy.
constexpr int kRounds = 4;

/// 8-bit operations per second, best of a few rounds.
double measure(int threads) {
  double best = 0;
  engine::Workers workers(threads);
  workers.run([&best] {
    using dnnl::memory;
    const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(cpu);
    const memory::dims shape = {kSize, kSize};
    const auto describe = [&](memory::data_type type) { return memory::desc(shape, type, memory::format_tag::ab); };
    const auto sources = describe(memory::data_type::u8), weights = describe(memory::data_type::s8);
    const auto results = describe(memory::data_type::s32);
    const dnnl::matmul product(dnnl::matmul::primitive_desc(cpu, sources, weights, results));
    std::vector<std::uint8_t> a(static_cast<std::size_t>(kSize * kSize), 3);
    std::vector<std::int8_t> b(a.size(), -2);
    std::vector<std::int32_t> c(a.size());
    memory source(sources, cpu, a.data()), weight(weights, cpu, b.data()), result(results, cpu, c.data());
    for (int round = 0; round <= kRounds; ++round) {
      const std::uint64_t begin = now_ns();
      product.execute(stream, {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, weight}, {DNNL_ARG_DST, result}});
      stream.wait();
      const double seconds = 1e-9 * static_cast<double>(std::max<std::uint64_t>(now_ns() - begin, 1));
      if (round > 0) best = std::max(best, 2.0 * kSize * kSize * kSize / seconds);  // The first compiles the kernel.
    }
  });
  return best;
}

/// The clock that the processor reports; 2 GHz if none.
double read_clock_hz() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("cpu MHz", 0) != 0) continue;
    const std::size_t colon = line.find(':');
    const double mhz = colon == std::string::npos ? 0 : std::strtod(line.c_str() + colon + 1, nullptr);
    if (mhz > 100) return mhz * 1e6;
  }
  return 2e9;
}

double clock_hz() {
  static const double clock = read_clock_hz();
  return clock;
}

double measured_once(int threads) {
  static std::mutex mutex;
  static std::unordered_map<int, double>& measured = *new std::unordered_map<int, double>;
  std::lock_guard lock(mutex);
  const auto [entry, is_new] = measured.try_emplace(threads, 0);
  if (is_new) entry->second = measure(threads);
  return entry->second;
}

}  // namespace

Throughput throughput(std::uint32_t tiles, int threads) noexcept try {
  const double per_tile = measured_once(threads) / tiles;
  Throughput result;
  result.operations_per_clock = static_cast<std::uint32_t>(std::max(1.0, std::round(per_tile / clock_hz())));
  // Absorbs the rounding in the clock, so that the product equals the measurement.
  result.clock_hz = static_cast<std::uint32_t>(std::min(per_tile / result.operations_per_clock, 4.2e9));
  return result;
} catch (...) {
  return {};
}

}  // namespace tenon::npu
