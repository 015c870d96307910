// SPDX-License-Identifier: Apache-2.0
// Intrusive reference counting for the few objects that have many owners.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// Base of shared objects. Starts with a count of 0; the first Ref makes it 1. @thread counting is atomic.
class TENON_API RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void add_ref() const noexcept {
    const std::uint32_t held = refs_.load(std::memory_order_relaxed);
    // No other thread can refer to an object without references, so no atomic addition is needed; that would cost ten
    // times as much.
    if (held == 0)
      refs_.store(1, std::memory_order_relaxed);
    else if (held < kImmortal)
      refs_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() const noexcept {
    const std::uint32_t held = refs_.load(std::memory_order_acquire);
    if (held >= kImmortal) return;
    // The holder of the only reference is the only user of the object.
    if (held == 1)
      refs_.store(0, std::memory_order_relaxed);
    else if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1)
      return;
    const_cast<RefCounted*>(this)->dispose();
  }
  /// For tests and diagnostics; out of date as soon as it is read.
  std::uint32_t ref_count() const noexcept { return refs_.load(std::memory_order_relaxed); }

 protected:
  virtual ~RefCounted() = default;
  /// Called once when the last reference is released. Pools override it to take the object back instead.
  virtual void dispose() noexcept { delete this; }
  /// Ends counting: the object is never disposed of, and threads don't contend for its count. Call before sharing it.
  void make_immortal() noexcept { refs_.store(kImmortal, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kImmortal = 1u << 31;
  mutable std::atomic<std::uint32_t> refs_{0};
};

/// Owner of one reference; null when empty.
template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(T* object) : object_(object) {
    if (object_) object_->add_ref();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <typename U>
  Ref(const Ref<U>& other) : Ref(other.get()) {}
  template <typename U>
  Ref(Ref<U>&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  template <typename U>
  friend class Ref;
  T* object_ = nullptr;
};

template <typename T, typename... Arguments>
Ref<T> make_ref(Arguments&&... arguments) {
  return Ref<T>(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace v1
}  // namespace tenon
