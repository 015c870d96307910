// SPDX-License-Identifier: Apache-2.0
// Pipelines.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <tenon/bindings/c/internal/element_handles.hpp>
#include <tenon/bindings/c/internal/guard.hpp>
#include <tenon/core/error.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon::c {
namespace {

/// At most a year, so that no clock overflows.
Deadline after_ms(std::int64_t timeout_ms) {
  if (timeout_ms < 0) refuse("timeout_ms is " + std::to_string(timeout_ms) + "; it must not be negative");
  return Clock::now() + std::chrono::milliseconds(std::min<std::int64_t>(timeout_ms, 31'536'000'000));
}

tenon_status_t status_of(const elements::Failure& failure) {
  try {
    if (failure.error) std::rethrow_exception(failure.error);
  } catch (const Error& error) {
    return static_cast<tenon_status_t>(error.code());
  } catch (...) {
    return TENON_UNKNOWN;
  }
  return TENON_UNKNOWN;
}

}  // namespace
}  // namespace tenon::c

using namespace tenon::c;

tenon_status_t tenon_element_names(tenon_strings_t** out) {
  return make(out, [&] {
    std::vector<std::string> names;
    for (const auto& one : tenon::elements::known_elements()) names.push_back(one.name);
    return names;
  });
}

tenon_status_t tenon_pipeline_create(const char* json, tenon_pipeline_t** out) {
  return make(out, [&] { return tenon::elements::parse_pipeline(required(json, "json")); });
}
tenon_status_t tenon_pipeline_start(tenon_pipeline_t* pipeline) {
  return run([&] { checked(pipeline, "pipeline").value.start(); });
}
tenon_status_t tenon_pipeline_wait(tenon_pipeline_t* pipeline, int64_t timeout_ms, bool* out_done) {
  return run([&] {
    *required(out_done, "out_done") = false;
    *out_done = checked(pipeline, "pipeline").value.wait(after_ms(timeout_ms));
  });
}
tenon_status_t tenon_pipeline_stop(tenon_pipeline_t* pipeline, int64_t timeout_ms) {
  return run([&] { checked(pipeline, "pipeline").value.stop(after_ms(timeout_ms)); });
}
tenon_status_t tenon_pipeline_add_source(tenon_pipeline_t* pipeline, const char* json, uint32_t* out_stream) {
  return run([&] {
    *required(out_stream, "out_stream") = 0;
    auto& held = checked(pipeline, "pipeline").value;
    const auto request = tenon::elements::parse_source(required(json, "json"));
    *out_stream = held.add_source(request.node, request.like);
  });
}
tenon_status_t tenon_pipeline_remove_source(tenon_pipeline_t* pipeline, const char* name, int64_t timeout_ms,
                                            bool* out_done) {
  return run([&] {
    *required(out_done, "out_done") = false;
    *out_done = checked(pipeline, "pipeline").value.remove_source(required(name, "name"), after_ms(timeout_ms));
  });
}
tenon_status_t tenon_pipeline_get_stats(const tenon_pipeline_t* pipeline, tenon_node_stats_list_t** out) {
  return make(out, [&] { return checked(pipeline, "pipeline").value.stats(); });
}
tenon_status_t tenon_pipeline_get_failures(const tenon_pipeline_t* pipeline, tenon_failures_t** out) {
  return make(out, [&] { return checked(pipeline, "pipeline").value.failures(); });
}
void tenon_pipeline_free(tenon_pipeline_t* pipeline) { free_handle(pipeline); }

size_t tenon_node_stats_list_count(const tenon_node_stats_list_t* list) {
  return ask(list, size_t{0}, [](const tenon_node_stats_list& held) { return held.values.size(); });
}
tenon_status_t tenon_node_stats_list_get(const tenon_node_stats_list_t* list, size_t index, tenon_node_stats_t* stats) {
  return run([&] {
    const auto& values = checked(list, "list").values;
    required(stats, "stats");
    if (index >= values.size()) refuse_past_end("node", index, values.size());
    const tenon::elements::NodeStats& from = values[index];
    tenon_node_stats_t value{};
    value.name = from.name.c_str();
    value.element = from.element.c_str();
    value.frames_in = from.frames_in;
    value.frames_out = from.frames_out;
    value.dropped = from.dropped;
    value.busy_ns = from.busy.count();
    value.queued = from.queued;
    value.queue_size = from.queue_size;
    value.copied = from.moved.copied;
    value.converted = from.moved.converted;
    value.transferred = from.moved.transferred;
    value.waits = from.moved.waits;
    value.p50_ns = from.p50.count();
    value.p90_ns = from.p90.count();
    value.p99_ns = from.p99.count();
    write_struct(stats, value, "stats");
  });
}
void tenon_node_stats_list_free(tenon_node_stats_list_t* list) { free_handle(list); }

size_t tenon_failures_count(const tenon_failures_t* failures) {
  return ask(failures, size_t{0}, [](const tenon_failures& held) { return held.values.size(); });
}
tenon_status_t tenon_failures_get(const tenon_failures_t* failures, size_t index, tenon_failure_t* failure) {
  return run([&] {
    const auto& values = checked(failures, "failures").values;
    required(failure, "failure");
    if (index >= values.size()) refuse_past_end("failure", index, values.size());
    const tenon::elements::Failure& from = values[index];
    tenon_failure_t value{};
    value.stream = from.stream;
    value.status = status_of(from);
    value.node = from.node.c_str();
    value.message = from.message.c_str();
    value.was_restarted = from.was_restarted;
    write_struct(failure, value, "failure");
  });
}
void tenon_failures_free(tenon_failures_t* failures) { free_handle(failures); }
