// SPDX-License-Identifier: Apache-2.0
// The names of planning/ that all of the engine's code uses as its own.
#pragma once

#include <tenon/planning/buffer_slices.hpp>  // IWYU pragma: export
#include <tenon/planning/growth.hpp>         // IWYU pragma: export

namespace tenon::inline v1::engine {

using planning::Buffer;
using planning::BufferId;
using planning::BufferKind;
using planning::BufferSlice;
using planning::CacheFormat;
using planning::Growth;
using planning::kNoBuffer;
using planning::Operand;
using planning::Quantization;

}  // namespace tenon::inline v1::engine
