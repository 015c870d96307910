// SPDX-License-Identifier: Apache-2.0
// Images over the regions of one memory: the latest are kept, older ones live as long as their tensors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <tenon/core/context.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/image.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

/// One use of an image over a buffer; wraps the lease of the tensor that was mapped.
class ImageLease final : public LeaseState {
 public:
  static Lease over(const Tensor& source, Ref<const ImageView> image);
  bool writable() const override { return !inner_ || inner_->writable(); }
  const Lease& inner() const { return inner_; }

 protected:
  void dispose() noexcept override;

 private:
  friend class FreeList<ImageLease>;
  Ref<Memory> memory_;
  Lease inner_;
  Ref<const ImageView> image_;
  ImageLease* next_ = nullptr;
};

/// The images over one memory that one context used last. One view of the memory for all of them, so that its other
/// maps do not become slower, and a program that cuts ever new regions does not keep an image of each.
/// @thread all members from any thread.
class ImageShelf final : public View {
 public:
  static constexpr std::size_t kMost = 16;
  /// What its images were made of; each has a shelf of its own. Not 0: it is no view that a tensor can be mapped to.
  enum class Of : std::uint64_t { kBuffer = 1, kImport = 2 };

  ImageShelf(Context context, Of of);
  /// The shelf of `memory` in `context`, made on first use.
  static ImageShelf& of(const Memory& memory, const Context& context, Of of);

  /// Null when there is no such image.
  Ref<const ImageView> find(const ImageLayout& layout, const cl_image_format& format);
  /// Keeps `made` in the place of the image that was not used for the longest time. @return the one to use: another
  /// thread may have been faster.
  Ref<const ImageView> keep(Ref<const ImageView> made);

 private:
  struct Place {
    Ref<const ImageView> image;
    std::uint64_t used = 0;
  };
  Ref<const ImageView> look_up(const ImageLayout& layout, const cl_image_format& format);

  std::mutex mutex_;
  std::array<Place, kMost> places_;
  std::uint64_t clock_ = 0;
};

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
