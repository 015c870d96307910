// SPDX-License-Identifier: Apache-2.0
// For tests: runs a pipeline to its end, and keeps what arrived.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/elements/callback.hpp>
#include <tenon/elements/pipeline.hpp>

namespace tenon_test {

/// The frames that arrived at the end of a pipeline. It holds the frames themselves if that is asked for.
struct Arrived {
  struct One {
    std::int64_t timestamp_ns = 0;
    tenon::FrameInfo info;
    std::string kind;  ///< The kind of memory.
    bool is_host = false;
  };
  std::map<std::uint32_t, std::vector<One>> frames;
  std::vector<tenon::Frame> held;
  std::vector<tenon::AudioFrame> audio;
  bool holds = false;

  tenon::elements::NodeSpec sink(tenon::Requirements wanted = {}) {
    return tenon::elements::node_of(tenon::elements::sink_of(
        "arrived",
        [this](std::uint32_t stream, const tenon::Frame& frame) {
          frames[stream].push_back({frame.timestamp_ns(), frame.info(), std::string(frame.plane(0).kind().name()),
                                    frame.plane(0).is_host_addressable()});
          if (holds) held.push_back(frame);
        },
        wanted));
  }
  tenon::elements::NodeSpec audio_sink() {
    return tenon::elements::node_of(tenon::elements::audio_sink_of(
        "heard", [this](std::uint32_t, const tenon::AudioFrame& frame) { audio.push_back(frame); }));
  }
};

/// Runs the pipeline to its end. @return The messages of failures.
inline std::vector<std::string> run(tenon::elements::Pipeline& pipeline) {
  pipeline.start();
  EXPECT_TRUE(pipeline.wait(tenon::Clock::now() + std::chrono::seconds(60))) << "the pipeline hangs";
  pipeline.stop(tenon::Clock::now());
  std::vector<std::string> messages;
  for (const auto& failure : pipeline.failures()) messages.push_back(failure.message);
  return messages;
}
inline std::vector<std::string> run(const tenon::elements::PipelineSpec& spec) {
  tenon::elements::Pipeline pipeline(spec);
  return run(pipeline);
}

}  // namespace tenon_test
