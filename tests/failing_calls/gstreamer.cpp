// SPDX-License-Identifier: Apache-2.0
// GStreamer with each of its calls failing that Tenon makes: buffers, pools, metadata, lines that begin and end in a program, and pipelines
// with such lines.
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>
#include <tenon/frameworks/gstreamer/launch.hpp>
#include <tenon/tests/failing_calls/each_call.hpp>

namespace {

using namespace tenon;
using namespace std::chrono_literals;
namespace gs = tenon::gstreamer;
using tenon_test::CallKind;
using tenon_test::Work;

constexpr std::size_t kFrames = 3;

void check(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("wrong: ") + what);
}

Deadline soon() { return Clock::now() + 10s; }

FrameInfo picture() { return {kNv12, 64, 48}; }

Frame frame_of_host() {
  Requirements wanted;
  wanted.size_bytes = Frame::size_bytes_for(picture(), wanted);
  return Frame::over(picture(), host_context()->allocate(wanted), wanted);
}

/// A picture of the host with an object, to a buffer and back.
void buffers() {
  Frame frame = frame_of_host();
  frame.metadata()["note"] = std::string("text");
  const gs::BufferPtr buffer = gs::buffer_with_metadata(frame, soon());
  const gs::CapsPtr caps = gs::caps(picture());
  const Frame back = gs::wrap(buffer.get(), gs::video_caps(caps.get()));
  check(back.plane_count() == 2, "planes of a buffer");
  check(gs::read_metadata(buffer.get(), picture()) != nullptr, "metadata of a buffer");
  gs::VideoFrame mapped(frame);
  check(GST_VIDEO_FRAME_WIDTH(mapped.get()) == 64, "a mapped frame");
}

void pool() {
  const gs::ObjectPtr<GstBufferPool> made = gs::pool();
  const gs::CapsPtr caps = gs::caps(picture());
  gs::configure(*made, caps.get(), 1, 2);
  GstBuffer* given = nullptr;
  const GstFlowReturn flow = gst_buffer_pool_acquire_buffer(made.get(), &given, nullptr);
  const gs::BufferPtr buffer(given);
  if (flow == GST_FLOW_OK)
    check(gs::wrap(buffer.get(), gs::video_caps(caps.get())).plane_count() == 2, "planes of a pool's buffer");
  gst_buffer_pool_set_active(made.get(), FALSE);
  if (flow != GST_FLOW_OK) throw Error(Code::kResourceExhausted, "no buffer", "gst_buffer_pool_acquire_buffer", flow);
}

void line_source() {
  gs::LaunchedSource source("videotestsrc num-buffers=3 ! video/x-raw,format=NV12,width=64,height=48");
  gs::CapsCache cache;
  std::size_t frames = 0;
  for (gs::SamplePtr sample = source.pull(soon()); sample; sample = source.pull(soon())) {
    check(gs::wrap_with_metadata(sample.get(), cache).plane_count() == 2, "planes of a sample");
    ++frames;
  }
  check(frames == kFrames, "frames of the line");
}

void line_sink() {
  const gs::CapsPtr caps = gs::caps(picture());
  gs::LaunchedSink sink("fakesink", caps.get());
  for (std::size_t i = 0; i < kFrames; ++i) {
    Frame frame = frame_of_host();
    frame.set_timestamp_ns(static_cast<std::int64_t>(i) * 40'000'000);
    sink.push(gs::buffer(frame, soon()), soon());
  }
  sink.finish(soon());
}

void pipeline() {
  elements::Pipeline made(
      {{{"gst_source", {}, {{"line", "videotestsrc num-buffers=3 ! video/x-raw,format=NV12,width=64,height=48"}}},
        {"gst_sink", {}, {{"line", "fakesink"}}}}});
  made.start();
  const bool has_ended = made.wait(Clock::now() + 20s);
  made.stop(Clock::now());
  const auto failures = made.failures();
  if (!failures.empty() && failures[0].error) std::rethrow_exception(failures[0].error);
  check(failures.empty(), "a failure without an error");
  check(has_ended, "the pipeline does not end");
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<Work> all{{"gst_buffers", buffers},
                        {"gst_pool", pool},
                        {"gst_line_source", line_source},
                        {"gst_line_sink", line_sink},
                        {"gst_pipeline", pipeline}};
  for (Work& work : all) work.kinds.push_back(CallKind::kGStreamer);
  Work first = all[2];
  first.name = "first_" + first.name;
  first.is_first = true;
  all.push_back(first);
  return tenon_test::main_of(all, count, arguments);
}
