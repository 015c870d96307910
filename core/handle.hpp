// SPDX-License-Identifier: Apache-2.0
// NT handles with owners. Only on Windows: elsewhere the functions that this class calls do not exist.
#pragma once

#include <cstdint>
#include <utility>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

/// @name CloseHandle, and DuplicateHandle within this process. @errors as UniqueHandle::duplicate.
TENON_API void close_handle(void* handle) noexcept;
TENON_API void* duplicate_handle(void* handle);
/// @errors as UniqueHandle::of_process.
TENON_API void* duplicate_handle_of(std::uint64_t process, int number);

}  // namespace platform

/// Owner of one NT handle (HANDLE); closes it. Moves, never copies.
/// @thread as a pointer: distinct objects from distinct threads.
class UniqueHandle {
 public:
  UniqueHandle() = default;
  /// Takes ownership of `handle`; null and INVALID_HANDLE_VALUE mean none.
  explicit UniqueHandle(void* handle) noexcept : handle_(number_of(handle) == -1 ? nullptr : handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) reset(std::exchange(other.handle_, nullptr));
    return *this;
  }
  ~UniqueHandle() { reset(); }

  /// A new handle of the same object, with the same rights, which child processes do not inherit; the caller keeps `handle`.
  /// @errors kInvalidArgument: `handle` is not open; kResourceExhausted: no handles left.
  static UniqueHandle duplicate(void* handle) { return UniqueHandle(platform::duplicate_handle(handle)); }
  UniqueHandle duplicate() const { return duplicate(handle_); }
  /// A handle in this process of what `number` (number_of) names in another one, with the same rights; that process keeps its own. How the
  /// number travels is the programs' affair.
  /// @param process  Its id. This process needs the right PROCESS_DUP_HANDLE to it, which it has for processes of its user.
  /// @errors kNotFound: there is no such process; kPermissionDenied: it may not be opened; kInvalidArgument: the number is no open handle
  /// there; kResourceExhausted.
  static UniqueHandle of_process(std::uint64_t process, int number) {
    return UniqueHandle(platform::duplicate_handle_of(process, number));
  }

  /// The handle, for the line that calls Windows; this object keeps ownership.
  void* get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  /// Gives the handle away: the caller closes it.
  [[nodiscard]] void* release() noexcept { return std::exchange(handle_, nullptr); }
  void reset(void* handle = nullptr) noexcept {
    if (handle_) platform::close_handle(handle_);
    handle_ = number_of(handle) == -1 ? nullptr : handle;
  }

  /// @name A handle as the number that Memory::borrow_fd() has room for, and back: Windows promises that 32 bits of a handle
  /// are significant, and that the others are its sign. -1: none.
  static int number_of(const void* handle) noexcept {
    return handle ? static_cast<int>(reinterpret_cast<std::intptr_t>(handle)) : -1;
  }
  static void* from_number(int number) noexcept {
    return number == -1 ? nullptr : reinterpret_cast<void*>(static_cast<std::intptr_t>(number));
  }

 private:
  void* handle_ = nullptr;
};

}  // namespace v1
}  // namespace tenon
