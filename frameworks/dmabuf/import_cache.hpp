// SPDX-License-Identifier: Apache-2.0
// Imports recurring dma-bufs only once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf {

/// Cache of imports, for buffers that recur, as a camera's or decoder's do: the same dma-buf gives the same Memory,
/// with the views made over it. Keyed by device and inode, because descriptor numbers are reused; the cache holds the
/// dma-buf, so its inode cannot be.
/// @thread distinct objects from distinct threads.
class ImportCache {
 public:
  /// Keeps up to `limit` imports; drops the least recently used.
  explicit ImportCache(std::size_t limit = 64) : limit_(std::max<std::size_t>(limit, 1)) {}

  /// `fd` stays the caller's. @errors as DmabufMemory::import. @cost fstat and a search if known, else an import.
  Ref<Memory> import(int fd, std::size_t size_bytes = 0, std::uint64_t modifier = kModifierLinear);
  std::size_t size() const { return kept_.size(); }

 private:
  std::size_t limit_;
  std::vector<Ref<DmabufMemory>> kept_;  ///< Most recently used first.
};

}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
