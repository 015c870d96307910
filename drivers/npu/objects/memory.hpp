// SPDX-License-Identifier: Apache-2.0
// Memory that clients allocated or imported, found by address.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>

#include <level_zero/ze_api.h>

#include <tenon/core/fd.hpp>

namespace tenon::npu {

class Context;
class Device;
class Reservation;

inline constexpr std::size_t kPageSize = 4096;

/// Counts the bytes in use in a context, on a device or in the process.
class MemoryAccount {
 public:
  void add(std::size_t bytes) noexcept { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void remove(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> used_{0};
};

/// Counts everything that this driver allocated for clients: its devices share the machine's memory.
MemoryAccount& process_memory() noexcept;

/// Memory of the machine, or of this process's control group, in bytes, read once; less where TENON_NPU_MEMORY or
/// limit_machine_memory() say so.
std::uint64_t machine_memory_bytes() noexcept;
/// @param bytes  0: no limit but the machine's, or that of TENON_NPU_MEMORY.
void limit_machine_memory(std::uint64_t bytes) noexcept;

/// One allocation or import. Released once the client has freed it and no command list needs it.
class Allocation {
 public:
  enum class Source : std::uint8_t { kOwn, kImportedFd, kUserMemory, kMapping };
  struct Description {
    ze_memory_type_t type = ZE_MEMORY_TYPE_HOST;
    Device* device = nullptr;                      ///< Null for host memory.
    bool read_only = false;                        ///< User memory that the device never writes.
    ze_external_memory_type_flags_t exported = 0;  ///< The ways to export it; 0: none.
    /// The accounts besides process_memory() that count it: its context's, its device's.
    std::array<std::shared_ptr<MemoryAccount>, 2> accounts;
  };
  ~Allocation();
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  /// @param alignment  0 or a power of two.
  static ze_result_t allocate(const Description& description, std::size_t size, std::size_t alignment,
                              std::shared_ptr<Allocation>* allocation);
  /// @param fd  stays the caller's; a file, memfd or dma-buf of at least `size` bytes that can be mapped. If its owner
  /// could shrink it (no dma-buf, not sealed), a duplicate is kept for is_intact(); for a dma-buf, a duplicate is kept
  /// for MemoryAccess.
  static ze_result_t import_fd(const Description& description, int fd, std::size_t size,
                               std::shared_ptr<Allocation>* allocation);
  /// Imports any range, as hardware's driver does, which maps the pages that it touches. The client must keep them mapped and
  /// backed while the import lives. An access has the same effects as one by the client.
  static ze_result_t import_user_memory(const Description& description, void* data, std::size_t size,
                                        std::shared_ptr<Allocation>* allocation);

  /// Maps a part of a file into a reserved range, which then has no access when the object ends. @return
  /// ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY with errno.
  static ze_result_t map_range(const Description& description, std::shared_ptr<Reservation> reservation, void* address,
                               std::size_t size, int fd, std::size_t offset, ze_memory_access_attribute_t access,
                               std::shared_ptr<Allocation>* allocation);
  bool is_mapping() const noexcept { return source_ == Source::kMapping; }
  ze_memory_access_attribute_t access() const noexcept { return access_.load(std::memory_order_relaxed); }
  /// For a mapping that no command uses: lists that name it are refused from now on, and its range is free for another.
  void unmap() noexcept;
  /// For a mapping. @return false with errno.
  bool set_access(ze_memory_access_attribute_t access) noexcept;

  /// Moves memory of its own into a file, at the same address, so that other processes can open it. Nothing may write to it
  /// meanwhile. @errors after fail(): ZE_RESULT_ERROR_UNSUPPORTED_FEATURE: user memory or a mapping.
  ze_result_t make_shareable();
  bool is_shareable() const noexcept;
  /// The file of exported or shareable memory; -1 if there is none.
  int borrow_fd() const noexcept { return fd_ ? fd_.get() : watched_fd_ ? watched_fd_.get() : dma_buf_.get(); }

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::uint64_t id() const noexcept { return id_; }
  Source source() const noexcept { return source_; }
  bool writable() const noexcept { return writable_ && access() == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE; }
  const Description& description() const noexcept { return description_; }
  /// A dma-buf, which other devices may use as well: see MemoryAccess.
  bool is_dma_buf() const noexcept { return static_cast<bool>(dma_buf_); }
  int borrow_dma_buf() const noexcept { return dma_buf_.get(); }
  /// Whether it may become inaccessible: other holders of its file can shrink it, or it is a mapping.
  bool is_shrinkable() const noexcept { return static_cast<bool>(watched_fd_) || is_mapping(); }
  /// Whether the file behind an import still contains the whole range, or the mapping may be read. Access to truncated pages would raise SIGBUS, so
  /// commands check first. A file that is shrunk while a command runs still ends the process: only its owner's
  /// F_SEAL_SHRINK, or a dma-buf, excludes that. @cost one lseek where is_shrinkable(), otherwise nothing.
  bool is_intact() const noexcept;
  /// A new descriptor of the memory, owned by the caller. @return -1 with errno if there is none.
  int export_fd(ze_external_memory_type_flags_t type) const noexcept;

 private:
  Allocation(const Description& description, Source source) : description_(description), source_(source) {}
  ze_result_t map(std::size_t size, std::size_t alignment, int fd, int protection);

  Description description_;
  Source source_;
  bool writable_ = true;
  std::atomic<ze_memory_access_attribute_t> access_{ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE};  ///< For mappings.
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::byte* reserved_ = nullptr;  ///< The mapping, with an inaccessible page before the data.
  std::size_t reserved_size_ = 0;
  std::size_t accounted_ = 0;
  std::uint64_t id_ = 0;
  std::shared_ptr<Reservation> reservation_;  ///< The range of a mapping.
  UniqueFd fd_;
  UniqueFd watched_fd_;
  UniqueFd dma_buf_;       ///< A duplicate, for its fences and the bracket around accesses.
  bool may_seek_ = false;  ///< watched_fd_ has a position of its own.
};

/// @return ZE_RESULT_ERROR_INVALID_SIZE, after fail(), if the file behind `memory` was shrunk.
ze_result_t check_intact(const Allocation& memory);

/// The process's allocations by context and address.
/// @thread all members from any thread.
class MemoryTable {
 public:
  /// @return false if the range overlaps an existing one of the context. Each context has its own page tables, so the
  ///         same user memory may be imported into several.
  bool insert(const Context* context, std::shared_ptr<Allocation> allocation);
  /// The allocation that contains this address, in `context` or (null) in any.
  std::shared_ptr<Allocation> find(const Context* context, const void* address) const {
    return find_range(context, address, 0);
  }
  /// Whether any allocation of the context shares a byte with the range.
  bool overlaps(const Context* context, const void* address, std::size_t size) const;
  /// The allocation that contains all of [address, address + size).
  std::shared_ptr<Allocation> find_range(const Context* context, const void* address, std::size_t size) const;
  /// Removes the allocation that begins here. @return null if there is none.
  std::shared_ptr<Allocation> remove(const Context* context, const void* address);
  /// Removes all allocations that the client did not free.
  void remove_all(const Context* context);

 private:
  using Entries = std::map<std::uintptr_t, std::shared_ptr<Allocation>>;
  mutable std::shared_mutex mutex_;
  std::map<const Context*, Entries> contexts_;
};

MemoryTable& memory_table() noexcept;

/// The context's allocation that contains the range; where sees_system_memory(), any memory that is mapped and readable.
/// @return null if there is none.
std::shared_ptr<Allocation> memory_at(const Context& context, const void* address, std::size_t size);

/// A file of memory, sealed so that no other holder of its descriptor can truncate it.
ze_result_t make_memory_file(std::size_t size, UniqueFd* file);

/// The export types that this machine supports.
ze_external_memory_type_flags_t exportable_types() noexcept;

/// Whether memfds can become dma-bufs here (/dev/udmabuf). Read once.
bool can_export_dma_buf() noexcept;

}  // namespace tenon::npu
