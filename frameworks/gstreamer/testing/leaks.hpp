// SPDX-License-Identifier: Apache-2.0
// For tests: what GStreamer's own tracer says is left.
#pragma once

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon::gstreamer_testing {
namespace detail {

/// The types of the objects that are left, or nothing if the tracer cannot say. Allocators of descriptors are immortal; GStreamer keeps
/// plugins, factories, clocks, and the caps of templates itself.
inline std::optional<std::vector<std::string>> what_is_left(GObject* tracer) {
  GstStructure* live = nullptr;
  g_signal_emit_by_name(tracer, "get-live-objects", &live);
  const GValue* list = live ? gst_structure_get_value(live, "live-objects-list") : nullptr;
  if (!list) return std::nullopt;
  std::vector<std::string> left;
  for (guint i = 0; i < gst_value_list_get_size(list); ++i) {
    const GstStructure* one = gst_value_get_structure(gst_value_list_get_value(list, i));
    const GValue* object = gst_structure_get_value(one, "object");
    const std::string name =
        G_VALUE_HOLDS_OBJECT(object) ? G_OBJECT_TYPE_NAME(g_value_get_object(object)) : G_VALUE_TYPE_NAME(object);
    const bool ours = name == "GstBuffer" || name == "GstBufferList" || name == "GstCaps" || name == "GstMemory" ||
                      name == "GstSample" || name.starts_with("Tenon") || name.starts_with("GstTenon");
    const bool is_kept = name == "GstCaps" &&
                         GST_MINI_OBJECT_FLAG_IS_SET(gst_value_get_caps(object), GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED);
    if (ours && !is_kept) left.push_back(name);
  }
  gst_structure_free(live);
  return left;
}

/// Ends the process: 0 if nothing is left, 2 without the tracer. Threads of a pipeline that ended let go of their last sample a moment later:
/// they are awaited, since the tracer takes references to what it lists, which must not be freed meanwhile.
template <typename Body>
void count_what_is_left(Body body) {
  ::setenv("GST_TRACERS", "leaks", 1);
  gstreamer::start();
  body();
  EXPECT_TRUE(drain_deferred(default_deadline()));
  gst_task_cleanup_all();
  GList* const tracers = gst_tracing_get_active_tracers();
  if (!tracers) std::_Exit(2);
  auto left = what_is_left(static_cast<GObject*>(tracers->data));
  for (int tries = 0; left && !left->empty() && tries < 3000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    left = what_is_left(static_cast<GObject*>(tracers->data));
  }
  if (left)
    for (const std::string& name : *left) std::fprintf(stderr, "left: %s\n", name.c_str());
  std::_Exit(::testing::Test::HasFailure() ? 4 : !left ? 3 : left->empty() ? 0 : 1);
}

inline bool has_tracer() {
  gstreamer::start();
  const gstreamer::ObjectPtr<GstPluginFeature> leaks(
      gst_registry_find_feature(gst_registry_get(), "leaks", GST_TYPE_TRACER_FACTORY));
  return leaks != nullptr;
}

}  // namespace detail

/// Runs `body` in a process of its own, which traces from GStreamer's start on: no buffer, caps or object of Tenon's may be
/// left. Skips the test where the tracer is not installed.
template <typename Body>
void expect_nothing_left(Body body) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto is_good = [](int status) {
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || (WEXITSTATUS(status) == 2 && !detail::has_tracer()));
  };
  EXPECT_EXIT(detail::count_what_is_left(body), is_good, "");
  if (!detail::has_tracer()) GTEST_SKIP() << "GStreamer's plugin coretracers is not installed";
}

}  // namespace tenon::gstreamer_testing
