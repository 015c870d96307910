// SPDX-License-Identifier: Apache-2.0
// Headers of cv::Mat that keep a tensor's memory, and tensors over the bytes of a Mat.
#include <tenon/frameworks/opencv/mat.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>

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

/// Checks and waits; returns the layout of `tensor`.
TENON_INLINE MatLayout prepare(const Tensor& tensor, const MatOptions& options) {
  if (!tensor) throw Error(Code::kInvalidArgument, "opencv::mat: the tensor is empty");
  if (!tensor.is_host_addressable() && tensor.element_count() != 0) {
    throw Error(Code::kFailedPrecondition, "opencv::mat of " + to_string(tensor) +
                                               ": the CPU cannot reach it; map it to opencv::context() with a Router");
  }
  if (writes(options.access) && !tensor.is_writable()) {
    throw Error(Code::kPermissionDenied, "opencv::mat of " + to_string(tensor) +
                                             ": it is read-only, or a decoder still refers to it, and cv::Mat knows no "
                                             "const; ask for Access::kRead and do not write, or clone it");
  }
  if (tensor.memory()->modifier() != kModifierLinear)
    throw Error(Code::kFailedPrecondition, "opencv::mat of " + to_string(tensor) + ": " + kTiled);
  MatLayout layout;
  if (!lay_out_picture(tensor.info(), layout)) {
    const auto judged = lay_out(tensor.info());
    if (const auto* refusal = std::get_if<Refusal>(&judged))
      throw Error(Code::kFailedPrecondition, "opencv::mat of " + to_string(tensor) + ": " + refusal->reason);
    layout = std::get<MatLayout>(judged);
  }
  if (tensor.memory()->has_hazards()) {
    const Deadline deadline = options.deadline == Deadline::max() ? default_deadline() : options.deadline;
    tensor.memory()->wait_for(options.access, deadline, options.ledger ? options.ledger : &Ledger::process());
  }
  return layout;
}

TENON_INLINE void* address_of(const Tensor& tensor) { return tensor.is_host_addressable() ? tensor.data() : nullptr; }

TENON_INLINE cv::Mat make_header(const Tensor& tensor, const MatLayout& layout) {
  return checked(
      "cv::Mat::Mat", [&] { return "a header over " + to_string(tensor); },
      [&] { return header_of(layout, tensor.info(), address_of(tensor)); });
}

}  // namespace detail

TENON_INLINE cv::Mat mat(const Tensor& tensor, const MatOptions& options) {
  const detail::MatLayout layout = detail::prepare(tensor, options);
  cv::Mat mat = detail::make_header(tensor, layout);
  mat.u = detail::Keeper::hold(tensor, mat.data, static_cast<std::size_t>(mat.datalimit - mat.datastart));
  return mat;
}
TENON_INLINE cv::Mat mat(const Tensor& tensor, Access access) {
  return mat(tensor, MatOptions{access, nullptr, Deadline::max()});
}

TENON_INLINE cv::Mat borrowed_mat(const Tensor& tensor, const MatOptions& options) {
  return detail::make_header(tensor, detail::prepare(tensor, options));
}

TENON_INLINE Tensor wrap(const cv::Mat& mat, cpu::Wrapped access) {
  if (mat.dims <= 0) throw Error(Code::kInvalidArgument, "opencv::wrap: an empty cv::Mat; give it create() first");
  TensorInfo info = detail::info_of(mat);
  const auto extent = checked_extent_bytes(info);
  const bool none = extent && *extent == 0;
  if (!extent || (!none && (!mat.data || mat.data < mat.datastart || mat.data > mat.datalimit ||
                            *extent > static_cast<std::size_t>(mat.datalimit - mat.data)))) {
    throw Error(Code::kInvalidArgument, "opencv::wrap of " + detail::describe(mat) +
                                            ": its data pointer and steps reach outside of its buffer");
  }
  if (const detail::Keeper* keeper = detail::Keeper::of(mat); keeper && access == cpu::Wrapped::kWritable)
    return keeper->tensor(std::move(info), mat.data);
  Ref<MatMemory> memory = MatMemory::over(mat, access == cpu::Wrapped::kReadOnly);
  const std::size_t offset = none ? 0 : static_cast<std::size_t>(mat.data - mat.datastart);
  return Tensor(std::move(info), std::move(memory), offset);
}

}  // namespace opencv
}  // namespace v1
}  // namespace tenon
