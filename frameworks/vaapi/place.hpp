// SPDX-License-Identifier: Apache-2.0
// Video processing as an edge: a place where all pictures have the format and size of a Processor.
#pragma once

#include <tenon/core/memory_kind.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// `Tensor::kind()` of planes of surfaces that were processed for a place. A kind of its own, so that no way leads through
/// a place: values change only where that is asked for.
inline constexpr MemoryKind kProcessedMemory{"vaapi.processed"};

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
