// SPDX-License-Identifier: Apache-2.0
// The bases of transforms, with a pool for what they write.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "dlstreamer/base/element.h"
#include "dlstreamer/base/frame.h"
#include "dlstreamer/base/pool.h"
#include "dlstreamer/transform.h"
#include "dlstreamer/utils.h"

#define BUFFER_POOL_SIZE_DEFAULT 16

namespace dlstreamer {

/// A class derived from it has get_output_allocator() and one of the two that write into `dst`.
class BaseTransform : public BaseElement<Transform> {
 public:
  BaseTransform(const ContextPtr& app_context) : _app_context(app_context) {}

  void set_input_info(const FrameInfo& info) override { _input_info = info; }
  void set_output_info(const FrameInfo& info) override { _output_info = info; }
  FrameInfoVector get_input_info() override { return {_input_info}; }
  FrameInfoVector get_output_info() override { return {_output_info}; }

  FramePtr process(FramePtr src) override {
    DLS_CHECK(init());
    FramePtr dst = create_output();
    return process(src, dst) ? dst : nullptr;
  }
  TensorPtr process(TensorPtr src) override {
    DLS_CHECK(init());
    // The tensor keeps its frame, which is what the pool asks for.
    const FramePtr frame = create_output();
    const TensorPtr dst = frame->tensor();
    if (!process(src, dst)) return nullptr;
    return std::shared_ptr<Tensor>(dst.get(), [frame, dst](Tensor*) {});
  }
  bool process(FramePtr src, FramePtr dst) override { return process(src->tensor(), dst->tensor()); }
  bool process(TensorPtr /*src*/, TensorPtr /*dst*/) override {
    throw std::runtime_error("BaseTransform::process: the element takes no single tensors; pass frames");
  }

  /// Objects in the pool.
  size_t pool_size() { return get_pool()->size(); }

 protected:
  virtual std::function<FramePtr()> get_output_allocator() = 0;
  Pool<FramePtr>* get_pool() {
    std::call_once(_pool_create_once, [this] {
      _pool = std::make_unique<Pool<FramePtr>>(get_output_allocator(), is_frame_available,
                                               static_cast<size_t>(_buffer_pool_size));
    });
    return _pool.get();
  }
  /// A frame of the pool that is in no use. Its metadata is empty.
  FramePtr create_output() {
    FramePtr frame = get_pool()->get_or_create();
    frame->metadata().clear();
    return frame;
  }
  /// Whether the pool alone holds the frame and its tensors.
  static bool is_frame_available(FramePtr& frame) {
    if (frame.use_count() > 1) return false;
    for (const TensorPtr& tensor : frame)
      if (tensor.use_count() > 1) return false;
    return true;
  }

  ContextPtr _app_context;
  FrameInfo _input_info;
  FrameInfo _output_info;
  std::unique_ptr<Pool<FramePtr>> _pool;
  int _buffer_pool_size = BUFFER_POOL_SIZE_DEFAULT;
  std::once_flag _pool_create_once;
};
using BaseTransformPtr = std::shared_ptr<BaseTransform>;

/// A class derived from it has one of the two that change `src`.
class BaseTransformInplace : public BaseElement<TransformInplace> {
 public:
  BaseTransformInplace(const ContextPtr& app_context) : _app_context(app_context) {}
  void set_info(const FrameInfo& info) override { _info = info; }
  bool process(FramePtr src) override {
    DLS_CHECK(init());
    return process(src->tensor());
  }
  bool process(TensorPtr /*src*/) override {
    throw std::runtime_error("BaseTransformInplace::process: the element takes no single tensors; pass frames");
  }

 protected:
  ContextPtr _app_context;
  FrameInfo _info;
};
using BaseTransformInplacePtr = std::shared_ptr<BaseTransformInplace>;

}  // namespace dlstreamer
