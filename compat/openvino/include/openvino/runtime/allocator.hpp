// SPDX-License-Identifier: Apache-2.0
// Where tensors' host memory comes from.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "openvino/core/core_visibility.hpp"

namespace ov {

/// Any object with allocate(bytes, alignment), a noexcept deallocate(pointer, bytes, alignment) and is_equal(other). Memory that
/// a tensor takes goes back to its allocator when the last tensor, request or device has released it.
class OPENVINO_API Allocator {
 public:
  /// Tenon's own: aligned to 64 bytes.
  Allocator();
  template <typename A, typename D = std::decay_t<A>,
            typename = decltype(std::declval<D&>().allocate(std::size_t{}, std::size_t{})),
            std::enable_if_t<!std::is_same_v<D, Allocator>&& noexcept(
                                 std::declval<D&>().deallocate(nullptr, std::size_t{}, std::size_t{})),
                             int> = 0>
  Allocator(A&& allocator) : impl_(std::make_shared<Holder<D>>(std::forward<A>(allocator))) {}

  void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    return impl_->allocate(bytes, alignment);
  }
  void deallocate(void* pointer, std::size_t bytes = 0, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    impl_->deallocate(pointer, bytes, alignment);
  }
  bool operator==(const Allocator& other) const { return impl_ == other.impl_ || impl_->equals(*other.impl_); }
  bool operator!() const noexcept { return !impl_; }
  explicit operator bool() const noexcept { return impl_ != nullptr; }
  /// True for Tenon's own.
  bool is_default() const noexcept;

 private:
  struct Base {
    virtual ~Base() = default;
    virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
    virtual void deallocate(void* pointer, std::size_t bytes, std::size_t alignment) noexcept = 0;
    virtual bool equals(const Base& other) const = 0;
  };
  template <typename A>
  struct Holder final : Base {
    template <typename... Args>
    explicit Holder(Args&&... args) : allocator(std::forward<Args>(args)...) {}
    void* allocate(std::size_t bytes, std::size_t alignment) override { return allocator.allocate(bytes, alignment); }
    void deallocate(void* pointer, std::size_t bytes, std::size_t alignment) noexcept override {
      allocator.deallocate(pointer, bytes, alignment);
    }
    bool equals(const Base& other) const override {
      const auto* same = dynamic_cast<const Holder*>(&other);
      return same && allocator.is_equal(same->allocator);
    }
    A allocator;
  };
  struct Default;
  static const std::shared_ptr<Base>& default_impl();
  std::shared_ptr<Base> impl_;
};

}  // namespace ov
