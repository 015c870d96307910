// SPDX-License-Identifier: Apache-2.0
// The host context of the process, plain host memory, and host memory behind a descriptor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/platform/shared_descriptor.hpp>
#include <tenon/core/ref_counted.hpp>

namespace tenon {
inline namespace v1 {

/// The one context of host memory in this process: kind "cpu". Allocates plain memory, or a memfd when a descriptor is
/// asked for. frameworks/cpu adds pools to it.
TENON_API Context host_context();

/// Host memory, allocated by Tenon or borrowed.
class TENON_API HostMemory final : public Memory {
 public:
  using Release = std::function<void()>;
  /// From this size on, owned memory begins and ends on a page: devices that import whole pages take it in place.
  static constexpr std::size_t kWholePagesFrom = 64 << 10;
  /// Owned, aligned to max(64, alignment), or to a page from kWholePagesFrom on. @errors kResourceExhausted.
  static Ref<HostMemory> allocate(std::size_t size_bytes, std::size_t alignment = 64);
  /// As allocate(), filled with empty std::string objects, which are destroyed with the memory.
  static Ref<HostMemory> allocate_strings(std::size_t count);
  /// Borrowed memory. `release` (may be empty) is called once, when the last reference goes, from any thread, and must
  /// not throw. `data` may be null when the size is 0: the memory then gets a dummy address.
  static Ref<HostMemory> borrow(void* data, std::size_t size_bytes, bool read_only = false, Release release = {});
  /// True for memory from allocate() and allocate_strings().
  bool owned() const { return owned_; }
  /// True for memory from allocate_strings().
  bool has_strings() const { return has_strings_; }
  /// The bytes that belong to this memory alone: its size, rounded up to pages where allocate() took whole ones.
  std::size_t capacity_bytes() const;

  HostMemory(const Properties& properties, bool owned, Release release);
  ~HostMemory() override;

 private:
  bool owned_, has_strings_ = false;
  Release release_;
};

/// Host memory that other processes and devices can share: a memfd, mapped whole. Sealed against shrinking, so that no
/// holder of the descriptor can truncate it and make readers die of SIGBUS. udmabuf requires that seal too. On Windows it is a section, which
/// cannot be truncated, and SharedDescriptor is a UniqueHandle.
/// @thread as Memory.
class TENON_API SharedMemory final : public Memory {
 public:
  /// New zeroed memory of `size_bytes`, rounded up to pages. @errors kInvalidArgument: a size of 0, or past 63 bits;
  /// kResourceExhausted: no memory or descriptors left. Both name the size.
  /// @cost memfd_create, ftruncate, mmap; pages are allocated on first touch (1.4 ms for 3 MB): use a Pool.
  static Ref<SharedMemory> allocate(std::size_t size_bytes, const char* name = "tenon");
  /// Maps all of a memfd made elsewhere; planes and regions in it are offsets. Takes `fd` over on success only: when
  /// this throws, it is unchanged and still the caller's.
  /// @param size_bytes  Minimum size of the memfd; 0 accepts any.
  /// @errors kInvalidArgument: closed, no memory (a pipe, socket, directory or device), or a file without the shrink
  /// seal, which could be truncated under the mapping; kOutOfRange: smaller than `size_bytes`; kResourceExhausted:
  /// cannot be mapped. A memfd sealed against writing is mapped read-only.
  static Ref<SharedMemory> import(platform::SharedDescriptor&& fd, std::size_t size_bytes = 0);
  ~SharedMemory() override;

  int borrow_fd() const override { return platform::number_of(fd_); }
  /// A descriptor for another process or API; closing it does not touch this memory. @errors as UniqueFd::duplicate.
  platform::SharedDescriptor export_fd() const { return fd_.duplicate(); }

 private:
  SharedMemory(const Properties& properties, platform::SharedDescriptor fd)
      : Memory(host_context(), kCpuMemory, properties), fd_(std::move(fd)) {}
  static Ref<SharedMemory> mapped(platform::SharedDescriptor&& fd, std::size_t size, bool read_only);

  platform::SharedDescriptor fd_;
};

/// An upper bound on the host memory that tensors may take together, for work whose size an untrusted model decides.
/// Memory counts from its allocation by a thread inside a scope until it is freed, by whichever thread.
/// @thread all members from any thread. @cost outside of scopes one read of a thread-local variable per allocation.
class TENON_API HostBudget {
 public:
  /// @param remedy  Appended to the message of a refusal: how to allow more.
  HostBudget(std::uint64_t limit_bytes, std::string remedy);

  /// Inside this scope HostMemory::allocate() throws kResourceExhausted beyond the limit. An inner scope replaces the
  /// outer one.
  class TENON_API Scope {
   public:
    explicit Scope(const HostBudget& budget);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const HostBudget* before_;
  };

  std::uint64_t used_bytes() const;

 private:
  friend class HostMemory;
  struct Account {
    std::atomic<std::uint64_t> used{0};
  };
  /// @errors kResourceExhausted.
  void take(std::uint64_t size_bytes) const;

  std::uint64_t limit_bytes_;
  std::string remedy_;
  std::shared_ptr<Account> account_;  ///< Shared, because memory may outlive the budget.
};

}  // namespace v1
}  // namespace tenon
