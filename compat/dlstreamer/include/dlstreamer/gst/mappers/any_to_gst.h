// SPDX-License-Identifier: Apache-2.0
// Anything as GstMemory and GstBuffer: by its descriptor or the address that the host has of it.
#pragma once

#include "dlstreamer/gst/context.h"

namespace dlstreamer {

class MemoryMapperAnyToGST : public detail::RoutedMapper {
 public:
  MemoryMapperAnyToGST(const ContextPtr& input_context, const ContextPtr& output_context, bool /*use_cache*/ = false)
      : RoutedMapper(input_context, output_context) {
    ptr_cast<GSTContext>(output_context);
  }
};

}  // namespace dlstreamer
