// SPDX-License-Identifier: Apache-2.0
// Elements that frames go to.
#pragma once

#include <memory>

#include "dlstreamer/base/element.h"
#include "dlstreamer/frame.h"
#include "dlstreamer/frame_info.h"

namespace dlstreamer {

class Sink : public Element {
 public:
  virtual FrameInfo get_input_info() = 0;
  virtual void set_input_info(const FrameInfo& info) = 0;
  virtual void write(FramePtr frame) = 0;
};
using SinkPtr = std::shared_ptr<Sink>;

/// @errors std::runtime_error: the element is no sink.
inline SinkPtr create_sink(const ElementDesc& desc, const AnyMap& params = AnyMap(),
                           const ContextPtr& app_context = nullptr) {
  return detail::create<Sink>(desc, params, app_context, "sink");
}
template <class Ty>
std::unique_ptr<Ty> create_sink(const AnyMap& params = AnyMap(), const ContextPtr& app_context = nullptr) {
  return detail::create<Ty>(params, app_context);
}

}  // namespace dlstreamer
