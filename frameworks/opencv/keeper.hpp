// SPDX-License-Identifier: Apache-2.0
// Keeps a tensor's memory alive while cv::Mat headers refer to it.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <opencv2/core/mat.hpp>

#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {
namespace detail {

/// OpenCV counts the headers over a buffer in its UMatData, and calls the buffer's allocator when the last one goes.
/// Ours therefore lies in an object that holds the tensor's memory and lease, and its allocator releases them. Objects
/// are kept per thread for reuse: the steady state allocates nothing and takes no lock.
/// @source opencv2/core/mat.hpp: struct UMatData, class MatAllocator
class Keeper {
 public:
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// A UMatData with one reference, for a header over `size_bytes` at `data` in `tensor`.
  static cv::UMatData* hold(const Tensor& tensor, void* data, std::size_t size_bytes) {
    Keeper* keeper = take();
    keeper->memory_ = tensor.memory();
    keeper->lease_ = tensor.lease();
    keeper->view_ = tensor.view();
    keeper->base_ = static_cast<std::byte*>(data) - (data ? tensor.offset() : 0);
    cv::UMatData& shared = keeper->shared_;
    shared.data = shared.origdata = static_cast<uchar*>(data);
    shared.size = size_bytes;
    shared.refcount = 1;
    return &shared;
  }

  /// The keeper behind `mat`; null if this module's mat() did not make it.
  static const Keeper* of(const cv::Mat& mat) {
    return mat.u && mat.u->currAllocator == allocator() ? static_cast<const Keeper*>(mat.u->userdata) : nullptr;
  }

  /// A tensor at `data` over the held memory.
  Tensor tensor(TensorInfo info, const void* data) const {
    const auto offset = data ? static_cast<std::size_t>(static_cast<const std::byte*>(data) - base_) : 0;
    return Tensor(std::move(info), memory_, offset, lease_, view_);
  }

 private:
  /// Used only through a UMatData: OpenCV allocates new buffers itself.
  class Allocator final : public cv::MatAllocator {
   public:
    cv::UMatData* allocate(int dims, const int* sizes, int type, void* data, std::size_t* step, cv::AccessFlag flags,
                           cv::UMatUsageFlags usage) const override {
      return cv::Mat::getStdAllocator()->allocate(dims, sizes, type, data, step, flags, usage);
    }
    bool allocate(cv::UMatData* data, cv::AccessFlag flags, cv::UMatUsageFlags usage) const override {
      return cv::Mat::getStdAllocator()->allocate(data, flags, usage);
    }
    /// Called by the last header. Nothing was mapped, so nothing is unmapped.
    void unmap(cv::UMatData* data) const override {
      if (data->refcount == 0 && data->urefcount == 0) static_cast<Keeper*>(data->userdata)->let_go();
    }
    void deallocate(cv::UMatData* data) const override { static_cast<Keeper*>(data->userdata)->let_go(); }
  };
  static const Allocator* allocator() {
    static const Allocator* the_one = new Allocator;  // Outlives static destructors that hold Mats.
    return the_one;
  }

  /// Unused keepers of one thread. Trivial, so that it can be used even while the thread's other objects are destroyed.
  struct Kept {
    std::array<Keeper*, 16> items;
    std::size_t count;
    bool watched, closed;
  };
  static Kept& kept() {
    static thread_local constinit Kept the_kept{};
    return the_kept;
  }
  /// Frees them when the thread ends.
  struct Watch {
    ~Watch() {
      Kept& mine = kept();
      mine.closed = true;
      while (mine.count != 0) delete mine.items[--mine.count];
    }
  };

  Keeper() : shared_(allocator()) { shared_.userdata = this; }
  ~Keeper() = default;

  static Keeper* take() {
    Kept& mine = kept();
    if (mine.count != 0) return mine.items[--mine.count];
    return new Keeper;
  }
  void let_go() noexcept {
    lease_ = nullptr;
    memory_ = nullptr;
    Kept& mine = kept();
    if (mine.closed || mine.count == mine.items.size()) {
      delete this;
      return;
    }
    if (!mine.watched) {
      static thread_local Watch watch;
      static_cast<void>(watch);
      mine.watched = true;
    }
    mine.items[mine.count++] = this;
  }

  cv::UMatData shared_;
  Ref<Memory> memory_;
  Lease lease_;
  const View* view_ = nullptr;
  std::byte* base_ = nullptr;
};

}  // namespace detail
}  // namespace opencv
}  // namespace v1
}  // namespace tenon
