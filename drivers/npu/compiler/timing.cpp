// SPDX-License-Identifier: Apache-2.0
// The estimate as integers, so that a binary has the same bytes everywhere.
#include <algorithm>
#include <cmath>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/compiler/timing.hpp>

namespace tenon::npu::compiler {
namespace {

constexpr std::uint64_t kMaxPs = std::uint64_t{1} << 52;  ///< Over an hour.

std::uint64_t in_ps(double ns) {
  const double ps = std::ceil(ns * 1000);
  return ps < static_cast<double>(kMaxPs) ? static_cast<std::uint64_t>(ps) : kMaxPs;
}

}  // namespace

std::chrono::nanoseconds Timing::inference() const {
  std::uint64_t ps = 0;
  for (const TimedLayer& layer : layers) ps = std::min(ps + layer.ps(), kMaxPs);
  return std::chrono::nanoseconds(ps / 1000);
}

Timing timing_of(const Model& model, const Target& target) try {
  const planning::NpuEstimate estimate = planning::estimate_on_npu(model, target.platform, target.tiles);
  Timing timing;
  for (const planning::NpuLayer& layer : estimate.layers)
    timing.layers.push_back({layer.name, layer.type, layer.engine, in_ps(layer.compute_ns), in_ps(layer.memory_ns)});
  timing.load = std::chrono::nanoseconds(in_ps(estimate.load_ns) / 1000);
  return timing;
} catch (const Error& error) {
  Timing timing;
  timing.unknown = error.what();
  return timing;
}

void write(store::TableWriter& writer, const Timing& timing) {
  writer.text(timing.unknown);
  writer.number(static_cast<std::uint64_t>(timing.load.count()));
  writer.number(timing.layers.size());
  for (const TimedLayer& layer : timing.layers) {
    writer.text(layer.name);
    writer.text(layer.type);
    writer.number(static_cast<std::uint64_t>(layer.engine));
    writer.number(layer.compute_ps);
    writer.number(layer.memory_ps);
  }
}

Timing read_timing(store::TableReader& reader) {
  Timing timing;
  timing.unknown = reader.text();
  timing.load = std::chrono::nanoseconds(static_cast<std::int64_t>(reader.number(kMaxPs / 1000)));
  timing.layers.resize(reader.count());
  for (TimedLayer& layer : timing.layers) {
    layer.name = reader.text();
    layer.type = reader.text();
    layer.engine =
        static_cast<planning::NpuEngine>(reader.number(static_cast<std::uint64_t>(planning::NpuEngine::kMove)));
    layer.compute_ps = reader.number(kMaxPs);
    layer.memory_ps = reader.number(kMaxPs);
  }
  return timing;
}

}  // namespace tenon::npu::compiler
