// SPDX-License-Identifier: Apache-2.0
// Imports recurring dma-bufs only once.
#pragma once

#include <sys/stat.h>

#include <fcntl.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
#include <tenon/frameworks/dmabuf/native.hpp>

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
  Ref<Memory> import(int fd, std::size_t size_bytes = 0, std::uint64_t modifier = kModifierLinear) {
    struct stat status {};
    if (native::fstat(fd, &status) == 0) {
      const MemoryIdentity identity{MemoryIdentity::Kind::kInode, static_cast<std::uint64_t>(status.st_dev),
                                    static_cast<std::uint64_t>(status.st_ino)};
      for (std::size_t i = 0; i < kept_.size(); ++i) {
        if (!(kept_[i]->identity() == identity) || kept_[i]->size_bytes() < size_bytes ||
            kept_[i]->modifier() != modifier)
          continue;
        std::rotate(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(i),
                    kept_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        return kept_.front();
      }
    }
    Ref<DmabufMemory> made = dmabuf::import(UniqueFd::duplicate(fd), size_bytes, modifier);
    if (kept_.size() == limit_) kept_.pop_back();
    kept_.insert(kept_.begin(), made);
    return made;
  }
  std::size_t size() const { return kept_.size(); }

 private:
  std::size_t limit_;
  std::vector<Ref<DmabufMemory>> kept_;  ///< Most recently used first.
};

}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
