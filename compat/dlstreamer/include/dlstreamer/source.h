// SPDX-License-Identifier: Apache-2.0
// Elements that frames come from.
#pragma once

#include <memory>

#include "dlstreamer/base/element.h"
#include "dlstreamer/frame.h"
#include "dlstreamer/frame_info.h"

namespace dlstreamer {

class Source : public Element {
 public:
  virtual FrameInfo get_output_info() = 0;
  virtual void set_output_info(const FrameInfo& info) = 0;
  /// The next frame; null at the end.
  virtual FramePtr read() = 0;
};
using SourcePtr = std::shared_ptr<Source>;

/// @errors std::runtime_error: the element is no source.
inline SourcePtr create_source(const ElementDesc& desc, const AnyMap& params = AnyMap(),
                               const ContextPtr& app_context = nullptr) {
  return detail::create<Source>(desc, params, app_context, "source");
}
template <class Ty>
std::unique_ptr<Ty> create_source(const AnyMap& params = AnyMap(), const ContextPtr& app_context = nullptr) {
  return detail::create<Ty>(params, app_context);
}

}  // namespace dlstreamer
