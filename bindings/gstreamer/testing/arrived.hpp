// SPDX-License-Identifier: Apache-2.0
// What comes to an element of a pipeline, buffer by buffer.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include <tenon/bindings/gstreamer/testing/test_elements.hpp>

namespace tenon::gst_plugin_testing {

/// What `read` finds in each buffer that comes to the sink pad of an element.
template <typename One>
class Arrivals {
 public:
  Arrivals(const Line& line, const char* element, One (*read)(GstBuffer*)) : read_(read) {
    const auto found = line.element(element);
    const gs::ObjectPtr<GstPad> pad(gst_element_get_static_pad(found.get(), "sink"));
    gst_pad_add_probe(
        pad.get(), GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo* info, gpointer data) {
          static_cast<Arrivals*>(data)->note(GST_PAD_PROBE_INFO_BUFFER(info));
          return GST_PAD_PROBE_OK;
        },
        this, nullptr);
  }
  std::vector<One> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  void note(GstBuffer* buffer) {
    One one = read_(buffer);
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(one));
  }
  One (*const read_)(GstBuffer*);
  std::mutex mutex_;
  std::vector<One> all_;
};

}  // namespace tenon::gst_plugin_testing
