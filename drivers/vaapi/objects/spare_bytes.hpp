// SPDX-License-Identifier: Apache-2.0
// Reuse of large blocks of destroyed buffers: clients create an image of the same size for every frame that they
// download.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::va {

/// Returns bytes of this size. Large blocks may come from an earlier buffer and are then not zeroed. @errors
/// std::bad_alloc @thread any
std::vector<std::uint8_t> take_bytes(std::size_t size_bytes);
/// Keeps a block for reuse if it is large and there is room.
void give_back_bytes(std::vector<std::uint8_t>&& bytes) noexcept;

}  // namespace tenon::va
