// SPDX-License-Identifier: Apache-2.0
// The host context of the process and plain host memory.
#pragma once

#include <functional>

#include <tenon/core/memory.hpp>

namespace tenon {
inline namespace v1 {

/// The one context of host memory in this process: kind "cpu". frameworks/cpu adds pools and shareable memory to it.
TENON_API Context host_context();

/// Host memory that Tenon allocated or that someone lent.
class TENON_API HostMemory final : public Memory {
 public:
  using Release = std::function<void()>;
  /// Owned, aligned to max(64, alignment). @errors kResourceExhausted.
  static Ref<HostMemory> allocate(std::size_t size_bytes, std::size_t alignment = 64);
  /// Borrowed; `release` (may be empty) is called once, when the last reference goes, from any thread; it must not
  /// throw. `data` may be null where the size is 0: the memory then has some address that is nobody else's business.
  static Ref<HostMemory> borrow(void* data, std::size_t size_bytes, bool read_only = false, Release release = {});
  /// True for memory that allocate() made.
  bool owned() const { return owned_; }

  HostMemory(const Properties& properties, bool owned, Release release);
  ~HostMemory() override;

 private:
  bool owned_;
  Release release_;
};

}  // namespace v1
}  // namespace tenon
