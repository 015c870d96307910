// SPDX-License-Identifier: Apache-2.0
// An image, a piece of sound or a set of tensors, with metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "dlstreamer/metadata.h"
#include "dlstreamer/tensor.h"

namespace dlstreamer {

enum class MediaType { Any = 0, Tensors = 1, Image = 2, Audio = 3 };

/// An ImageFormat for images, an AudioFormat for audio.
typedef int64_t Format;

class Frame {
 public:
  using iterator = std::vector<TensorPtr>::iterator;

  Frame() = default;
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  virtual ~Frame() = default;

  virtual MediaType media_type() const = 0;
  virtual Format format() const = 0;
  virtual MemoryType memory_type() const = 0;
  virtual iterator begin() noexcept = 0;
  virtual iterator end() noexcept = 0;
  /// @param index  -1: the only tensor. @errors std::runtime_error: no such tensor, or more than one.
  virtual TensorPtr tensor(int index = -1) = 0;
  virtual size_t num_tensors() const = 0;
  virtual Metadata& metadata() = 0;
  const Metadata& metadata() const { return const_cast<Frame*>(this)->metadata(); }
  /// The frame that this one was mapped or cut from; null where it is its own.
  virtual FramePtr parent() const = 0;
  virtual std::vector<FramePtr> regions() const = 0;
};

/// Shared ownership of a frame, which can be mapped to other contexts.
class FramePtr : public std::shared_ptr<Frame> {
 public:
  using std::shared_ptr<Frame>::shared_ptr;
  FramePtr(std::shared_ptr<Frame> frame) : std::shared_ptr<Frame>(std::move(frame)) {}

  /// As TensorPtr::map(), for all tensors of the frame.
  FramePtr map(const ContextPtr& output_context, AccessMode access_mode = AccessMode::ReadWrite) const {
    if (!*this) throw std::runtime_error("FramePtr::map: the frame is null");
    const ContextPtr input_context = get()->num_tensors() ? get()->tensor(0)->context() : nullptr;
    if (input_context == output_context) return *this;
    return detail::mapper_between(input_context, output_context)->map(*this, access_mode);
  }
  FramePtr map(AccessMode access_mode = AccessMode::ReadWrite) const { return map(nullptr, access_mode); }
  template <typename T>
  std::shared_ptr<T> map(const ContextPtr& output_context, AccessMode access_mode = AccessMode::ReadWrite) const {
    return ptr_cast<T>(map(output_context, access_mode));
  }
  Frame::iterator begin() const noexcept { return get()->begin(); }
  Frame::iterator end() const noexcept { return get()->end(); }
};

}  // namespace dlstreamer
