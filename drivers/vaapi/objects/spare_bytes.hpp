// SPDX-License-Identifier: Apache-2.0
// Large blocks that buffers leave behind: clients make an image for every frame that they download, of the same size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::va {

/// Bytes of this size, from a buffer before if it was large: then not zeroed. @errors std::bad_alloc  @thread any
std::vector<std::uint8_t> take_bytes(std::size_t size_bytes);
/// Keeps a block for the next one, if it is large and there is room.
void give_back_bytes(std::vector<std::uint8_t>&& bytes) noexcept;

}  // namespace tenon::va
