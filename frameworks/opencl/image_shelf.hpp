// SPDX-License-Identifier: Apache-2.0
// Images over the regions of one memory: the latest are kept, older ones live as long as their tensors.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/view_count.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/image.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

/// One use of an image over a buffer; wraps the lease of the tensor that was mapped.
class ImageLease final : public LeaseState {
 public:
  static Lease over(const Tensor& source, Ref<const ImageView> image) {
    ImageLease* lease = FreeList<ImageLease>::instance().take();
    lease->memory_ = source.memory();
    lease->inner_ = source.lease();
    lease->image_ = std::move(image);
    return Lease(lease);
  }
  bool writable() const override { return !inner_ || inner_->writable(); }
  const Lease& inner() const { return inner_; }

 protected:
  void dispose() noexcept override {
    image_ = {};  // Before the memory that it lies over.
    inner_ = {};
    memory_ = {};
    FreeList<ImageLease>::instance().give_back(this);
  }

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

  ImageShelf(Context context, Of of)
      : View(std::move(context), kImageMemory, Access::kReadWrite, nullptr, static_cast<std::uint64_t>(of)) {}
  /// The shelf of `memory` in `context`, made on first use.
  static ImageShelf& of(const Memory& memory, const Context& context, Of of) {
    const View* view = memory.find_view(*context, kImageMemory, Access::kReadWrite, static_cast<std::uint64_t>(of));
    if (!view) view = &memory.add_view(std::make_unique<ImageShelf>(context, of));
    // Only this class has these keys.
    return const_cast<ImageShelf&>(static_cast<const ImageShelf&>(*view));
  }

  /// Null when there is no such image.
  Ref<const ImageView> find(const ImageLayout& layout, const cl_image_format& format) {
    std::lock_guard lock(mutex_);
    return look_up(layout, format);
  }
  /// Keeps `made` in the place of the image that was not used for the longest time. @return the one to use: another
  /// thread may have been faster.
  Ref<const ImageView> keep(Ref<const ImageView> made) {
    Ref<const ImageView> dropped;  // Released outside the lock.
    std::lock_guard lock(mutex_);
    if (Ref<const ImageView> known = look_up(made->layout(), made->format())) return known;
    Place& oldest = *std::min_element(places_.begin(), places_.end(),
                                      [](const Place& a, const Place& b) { return a.used < b.used; });
    dropped = std::exchange(oldest.image, made);
    oldest.used = ++clock_;
    note_view_made();
    return made;
  }

 private:
  struct Place {
    Ref<const ImageView> image;
    std::uint64_t used = 0;
  };
  Ref<const ImageView> look_up(const ImageLayout& layout, const cl_image_format& format) {
    for (Place& place : places_) {
      if (!place.image || !(place.image->layout() == layout)) continue;
      const cl_image_format& known = place.image->format();
      if (known.image_channel_order != format.image_channel_order ||
          known.image_channel_data_type != format.image_channel_data_type)
        continue;
      place.used = ++clock_;
      return place.image;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::array<Place, kMost> places_;
  std::uint64_t clock_ = 0;
};

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
