// SPDX-License-Identifier: Apache-2.0
// For tests of sinks that send messages to a broker: pipelines of a source and such a sink.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/elements/pipeline.hpp>

namespace tenon_test {

/// Whether the sink takes that many frames within half a minute.
inline bool takes(const tenon::elements::Pipeline& pipeline, std::uint64_t frames) {
  for (const auto end = tenon::Clock::now() + std::chrono::seconds(30); tenon::Clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    if (pipeline.stats()[1].frames_in >= frames) return true;
  return false;
}

/// What the sink says for lack of a broker. On a busy machine the time may be over before a connection was refused: then it gets more.
/// @param spec_for  Makes the pipeline for a value of the parameter wait_s.
template <typename SpecFor>
std::vector<tenon::elements::Failure> failures_without_broker(SpecFor spec_for) {
  std::vector<tenon::elements::Failure> failures;
  for (const char* const wait_s : {"0.4", "2", "10"}) {
    tenon::elements::Pipeline pipeline(spec_for(wait_s));
    const auto begin = tenon::Clock::now();
    pipeline.start();
    EXPECT_TRUE(pipeline.wait(tenon::Clock::now() + std::chrono::seconds(100)));
    EXPECT_LT(tenon::Clock::now() - begin, std::chrono::seconds(60));
    failures = pipeline.failures();
    if (failures.empty() || failures[0].message.find("Connection refused") != std::string::npos) break;
  }
  return failures;
}

}  // namespace tenon_test
