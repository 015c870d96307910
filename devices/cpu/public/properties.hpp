// SPDX-License-Identifier: Apache-2.0
// Properties of the CPU device beside the general ones, with OpenVINO's keys and value types.
#pragma once

#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/property.hpp>

namespace tenon {
inline namespace v1 {
namespace intel_cpu {

enum class TbbPartitioner { NONE = 0, STATIC = 1, AUTO = 2 };
TENON_ENUM_TEXT(TbbPartitioner, "tbb partitioner",
                {{TbbPartitioner::NONE, "NONE"}, {TbbPartitioner::STATIC, "STATIC"}, {TbbPartitioner::AUTO, "AUTO"}})
inline constexpr Property<TbbPartitioner> tbb_partitioner{"TBB_PARTITIONER"};

/// Treats numbers too small to be normal as zero.
inline constexpr Property<bool> denormals_optimization{"CPU_DENORMALS_OPTIMIZATION"};
inline constexpr Property<float> sparse_weights_decompression_rate{"CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE"};
/// A property of OpenVINO's CPU device that none of its public headers declares.
inline constexpr Property<bool> enable_tensor_parallel{"ENABLE_TENSOR_PARALLEL"};

}  // namespace intel_cpu
}  // namespace v1
}  // namespace tenon
