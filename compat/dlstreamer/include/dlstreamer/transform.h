// SPDX-License-Identifier: Apache-2.0
// Elements that make other frames of frames, or change them.
#pragma once

#include <memory>

#include "dlstreamer/base/element.h"
#include "dlstreamer/frame.h"
#include "dlstreamer/frame_info.h"

namespace dlstreamer {

class Transform : public Element {
 public:
  virtual void set_input_info(const FrameInfo& info) = 0;
  virtual void set_output_info(const FrameInfo& info) = 0;
  virtual FrameInfoVector get_input_info() = 0;
  virtual FrameInfoVector get_output_info() = 0;
  /// Into memory of the caller. False: it failed.
  virtual bool process(TensorPtr src, TensorPtr dst) = 0;
  virtual bool process(FramePtr src, FramePtr dst) = 0;
  /// Into memory of the element. Null: it failed.
  virtual TensorPtr process(TensorPtr src) = 0;
  virtual FramePtr process(FramePtr src) = 0;
};
using TransformPtr = std::shared_ptr<Transform>;

class TransformInplace : public Element {
 public:
  virtual void set_info(const FrameInfo& info) = 0;
  virtual bool process(TensorPtr src) = 0;
  virtual bool process(FramePtr src) = 0;
};
using TransformInplacePtr = std::shared_ptr<TransformInplace>;

/// @errors std::runtime_error: the element is no transform.
inline TransformPtr create_transform(const ElementDesc& desc, const AnyMap& params = AnyMap(),
                                     const ContextPtr& app_context = nullptr) {
  return detail::create<Transform>(desc, params, app_context, "transform");
}
template <class Ty>
std::unique_ptr<Ty> create_transform(const AnyMap& params = AnyMap(), const ContextPtr& app_context = nullptr) {
  return detail::create<Ty>(params, app_context);
}

}  // namespace dlstreamer
