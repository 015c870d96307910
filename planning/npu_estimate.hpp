// SPDX-License-Identifier: Apache-2.0
// How long a model would take on an NPU, layer by layer, from the NPU's published figures: a roofline with memory on the chip. It
// knows no compiler's schedule; docs/guide/npu_estimate.md says what it leaves out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/npu_platforms.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::planning {

/// The part of an NPU that computes a layer.
enum class NpuEngine : std::uint8_t {
  kMatrix,  ///< Convolutions, matrix products, recurrent cells, and what is computed on their results in passing.
  kVector,  ///< Everything else that computes.
  kMove,    ///< Only moves data.
};
const char* name(NpuEngine engine);

struct NpuLayer {
  std::string name, type;  ///< As the node of the model has them; nodes computed in passing are in `fused`.
  std::vector<std::string> fused;
  NpuEngine engine = NpuEngine::kMatrix;
  bool in_8_bits = false;           ///< Its operands are; otherwise it computes in f16.
  std::uint64_t multiply_adds = 0;  ///< The layer as it is.
  std::uint64_t padded = 0;         ///< The same with channels rounded up to what the engine takes at once.
  std::uint64_t elements = 0;       ///< What vector units work on.
  std::uint64_t read_bytes = 0, written_bytes = 0;  ///< From and to the machine's memory, in the types of the device.
  std::uint64_t weight_bytes = 0;                   ///< Read as well, each time.
  double compute_ns = 0, memory_ns = 0;
  double ns = 0;  ///< The longer of both: transfers run beside computing.

  std::uint64_t bytes() const { return read_bytes + written_bytes + weight_bytes; }
};

struct NpuEstimate {
  std::vector<NpuLayer> layers;  ///< In the order of execution.
  double ns = 0;                 ///< One inference.
  double load_ns = 0;            ///< Moving all weights there once, before the first inference.
  std::uint64_t bytes() const;
};

/// @param tiles  1 to platform.max_tiles.
/// @errors kFailedPrecondition: a shape is not known (names the node); kUnimplemented: a loop or a branch, or a platform without figures;
/// kInvalidArgument: `tiles`
NpuEstimate estimate_on_npu(const Model& model, const NpuPlatform& platform, int tiles);

}  // namespace tenon::inline v1::planning
