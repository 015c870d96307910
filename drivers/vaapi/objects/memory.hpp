// SPDX-License-Identifier: Apache-2.0
// The memory of surfaces: a dma-buf if the kernel supports it, else a sealed memfd; or an imported descriptor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <tenon/core/fd.hpp>
#include <tenon/core/policy.hpp>

namespace tenon::va {

/// One mapped descriptor. @thread any.
class Memory {
 public:
  /// Zeroed. @errors tenon::Error: no memory, no descriptor left.
  static std::shared_ptr<Memory> allocate(std::size_t size_bytes);
  /// @param fd  stays the caller's. A dma-buf, or a memfd sealed against shrinking. @errors tenon::Error: anything
  /// else, or smaller than `size_bytes`.
  static std::shared_ptr<Memory> import(int fd, std::size_t size_bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::uint8_t* data() const noexcept { return data_; }
  std::size_t size_bytes() const noexcept { return size_; }
  bool read_only() const noexcept { return read_only_; }
  UniqueFd export_fd() const {
    is_seen_elsewhere_ = true;
    return fd_.duplicate();
  }
  /// Whether it was imported; the CPU may read such memory slowly.
  bool is_imported() const noexcept { return is_imported_; }
  /// Whether its descriptor was imported or exported, so that another API or process may have it.
  bool is_seen_elsewhere() const noexcept { return is_seen_elsewhere_; }

  /// The kernel's bracket around the CPU's access to a dma-buf; nothing for a memfd.
  void begin(Access access) const noexcept;
  void end(Access access) const noexcept;

 private:
  Memory(UniqueFd fd, std::size_t size_bytes, bool read_only, bool is_dmabuf);

  UniqueFd fd_;
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  bool read_only_ = false, is_dmabuf_ = false, is_imported_ = false;
  mutable std::atomic<bool> is_seen_elsewhere_{false};
};

}  // namespace tenon::va
