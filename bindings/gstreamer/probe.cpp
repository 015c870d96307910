// SPDX-License-Identifier: Apache-2.0
// Compiled and linked at configuration to check that the GStreamer found has what the plugin needs (1.20 and later).
#include <gst/base/gstbasesink.h>
#include <gst/base/gstpushsrc.h>
#include <gst/gst.h>

int main() { return GST_TYPE_PUSH_SRC == GST_TYPE_BASE_SINK; }
