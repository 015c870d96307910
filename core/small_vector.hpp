// SPDX-License-Identifier: Apache-2.0
// A vector of trivial values that stores its first N inline, so that describing a tensor allocates nothing.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace tenon {
inline namespace v1 {

/// Contiguous sequence; uses the heap only beyond N elements. Iterators are pointers, invalidated by growth and by
/// moving.
template <typename T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;
  using reference = T&;
  using const_reference = const T&;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  SmallVector() = default;
  explicit SmallVector(std::size_t count, T value = T{}) { resize(count, value); }
  SmallVector(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  template <typename It, typename = typename std::iterator_traits<It>::iterator_category>
  SmallVector(It first, It last) {
    assign(first, last);
  }
  SmallVector(const SmallVector& other) { *this = other; }
  SmallVector(SmallVector&& other) noexcept { steal(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this == &other) return *this;
    if (other.capacity_ == N && capacity_ == N) {
      std::memcpy(inline_, other.inline_, sizeof inline_);  // Fixed size: a few vector moves, no call.
      size_ = other.size_;
    } else {
      assign(other.begin(), other.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) steal(other);
    return *this;
  }

  T* data() { return heap_ ? heap_.get() : inline_; }
  const T* data() const { return heap_ ? heap_.get() : inline_; }
  iterator begin() { return data(); }
  iterator end() { return data() + size_; }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size_; }
  const_iterator cbegin() const { return data(); }
  const_iterator cend() const { return data() + size_; }
  auto rbegin() const { return std::reverse_iterator(end()); }
  auto rend() const { return std::reverse_iterator(begin()); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& at(std::size_t i) { return check(i), data()[i]; }
  const T& at(std::size_t i) const { return check(i), data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void clear() { size_ = 0; }
  void reserve(std::size_t count) {
    if (count <= capacity_) return;
    auto grown = std::make_unique<T[]>(count);
    if (size_ != 0) std::memcpy(grown.get(), data(), size_ * sizeof(T));
    heap_ = std::move(grown);
    capacity_ = count;
  }
  void resize(std::size_t count, T value = T{}) {
    reserve(count);
    T* const all = data();
    for (std::size_t i = size_; i < count; ++i) all[i] = value;
    size_ = count;
  }
  void push_back(T value) {
    if (size_ == capacity_) reserve(capacity_ * 2);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  iterator insert(const_iterator position, T value) {
    const std::size_t at = static_cast<std::size_t>(position - begin());
    push_back(value);
    for (std::size_t i = size_ - 1; i > at; --i) data()[i] = data()[i - 1];
    data()[at] = value;
    return begin() + at;
  }
  iterator erase(const_iterator position) {
    iterator at = begin() + (position - begin());
    for (iterator moved = at + 1; moved != end(); ++moved) moved[-1] = *moved;
    --size_;
    return at;
  }
  template <typename It>
  void assign(It first, It last) {
    const auto count = static_cast<std::size_t>(std::distance(first, last));
    reserve(count);
    for (T* to = data(); first != last; ++first) *to++ = static_cast<T>(*first);
    size_ = count;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a[i] == b[i])) return false;
    return true;
  }
  friend bool operator<(const SmallVector& a, const SmallVector& b) {
    for (std::size_t i = 0; i < a.size_ && i < b.size_; ++i) {
      if (a[i] < b[i]) return true;
      if (b[i] < a[i]) return false;
    }
    return a.size_ < b.size_;
  }

 private:
  void check(std::size_t i) const {
    if (i >= size_) throw std::out_of_range("SmallVector: index past the end");
  }
  void steal(SmallVector& other) noexcept {
    heap_ = std::move(other.heap_);
    if (!heap_) std::memcpy(inline_, other.inline_, sizeof inline_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, N);
  }

  T inline_[N] = {};
  std::unique_ptr<T[]> heap_;
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
};

}  // namespace v1
}  // namespace tenon
