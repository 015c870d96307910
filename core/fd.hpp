// SPDX-License-Identifier: Apache-2.0
// File descriptors with owners: one, or several.
#pragma once

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/platform/descriptors.hpp>

namespace tenon {
inline namespace v1 {

/// Owner of one descriptor; closes it. Moves, never copies.
/// @thread as int: distinct objects from distinct threads.
class UniqueFd {
 public:
  UniqueFd() = default;
  /// Takes ownership of `fd`; -1 means none.
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }

  /// A new descriptor of the same open file as `fd`, close-on-exec; the caller keeps `fd`.
  /// @errors kInvalidArgument: `fd` is not open; kResourceExhausted: no descriptors left.
  static UniqueFd duplicate(int fd) {
    const int copy = platform::duplicate_descriptor(fd);
    if (copy < 0) {
      const int error = errno;
      throw Error(error == EBADF ? Code::kInvalidArgument : Code::kResourceExhausted,
                  "file descriptor " + std::to_string(fd) +
                      (error == EBADF ? ": it is not open" : ": cannot be duplicated; raise the limit of open files"),
                  platform::kDuplicateCall, error);
    }
    return UniqueFd(copy);
  }
  UniqueFd duplicate() const { return duplicate(fd_); }

  /// The number, for the line that calls the kernel; this object keeps ownership.
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  /// Gives the descriptor away: the caller closes it.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) platform::close_descriptor(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

/// One descriptor with several owners: closed with the last owner. Planes of one allocation share one of these, so that
/// no plane closes a descriptor that another still uses.
/// @thread distinct objects from distinct threads.
class SharedFd {
 public:
  SharedFd() = default;
  SharedFd(UniqueFd fd) : fd_(fd ? std::make_shared<const UniqueFd>(std::move(fd)) : nullptr) {}
  int get() const noexcept { return fd_ ? fd_->get() : -1; }
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  /// A descriptor of its own. @errors as UniqueFd::duplicate.
  UniqueFd duplicate() const { return UniqueFd::duplicate(get()); }

 private:
  std::shared_ptr<const UniqueFd> fd_;
};

}  // namespace v1
}  // namespace tenon
