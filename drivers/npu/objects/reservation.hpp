// SPDX-License-Identifier: Apache-2.0
// Address ranges that clients reserve, to map memory there.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace tenon::npu {

class Context;

/// A reserved range, without access until memory is mapped there. Given back with the last mapping or list that needs it.
class Reservation {
 public:
  /// Null without address space. @param hint  Where it shall begin, if that is free; may be null.
  static std::shared_ptr<Reservation> make(const void* hint, std::size_t size);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  Reservation(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* const data_;
  const std::size_t size_;
};

/// The process's reservations by context. @thread all members from any thread.
class Reservations {
 public:
  static Reservations& all() noexcept;
  /// @errors std::bad_alloc
  void insert(const Context* context, std::shared_ptr<Reservation> reservation);
  /// The reservation that contains all of the range; null if there is none.
  std::shared_ptr<Reservation> find(const Context* context, const void* address, std::size_t size) const;
  /// @return false: no reservation of the context is exactly this range.
  bool remove(const Context* context, const void* address, std::size_t size);
  void remove_all(const Context* context) noexcept;

 private:
  mutable std::mutex mutex_;
  std::map<const Context*, std::map<const void*, std::shared_ptr<Reservation>>> contexts_;
};

}  // namespace tenon::npu
