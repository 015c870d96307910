// SPDX-License-Identifier: Apache-2.0
// How long a graph would take on the NPU that it was compiled for; kept in its binary.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <tenon/drivers/npu/compiler/options.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/planning/npu_estimate.hpp>
#include <tenon/store/table.hpp>

namespace tenon::npu::compiler {

/// A layer that the NPU would execute. @source planning/npu_estimate.hpp
struct TimedLayer {
  std::string name, type;
  planning::NpuEngine engine = planning::NpuEngine::kMatrix;
  std::uint64_t compute_ps = 0, memory_ps = 0;  ///< Picoseconds: many layers take less than a microsecond.
  std::uint64_t ps() const { return compute_ps > memory_ps ? compute_ps : memory_ps; }
};

struct Timing {
  std::vector<TimedLayer> layers;  ///< Empty if it is not known: shapes that move, loops, branches.
  std::chrono::nanoseconds load{0};
  std::string unknown;  ///< Why; empty if it is known.
  /// One inference; 0 if it is not known.
  std::chrono::nanoseconds inference() const;
};

Timing timing_of(const Model& model, const Target& target);

void write(store::TableWriter& writer, const Timing& timing);
Timing read_timing(store::TableReader& reader);

}  // namespace tenon::npu::compiler
