// SPDX-License-Identifier: Apache-2.0
// Small pictures of the streams of a pipeline, for people who look at them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <tenon/elements/pipeline_spec.hpp>

namespace tenon::tool {

/// The latest picture of each stream as JPEG, at most kWidth_px wide.
/// @thread any.
class Previews {
 public:
  static constexpr int kWidth_px = 640;
  using Time = std::chrono::steady_clock::time_point;

  /// @param always  Also while nobody looks, once a second: for a report.
  explicit Previews(bool always) : always_(always) {}
  /// Null: none yet. Notes that somebody looks.
  std::shared_ptr<const std::string> latest(std::uint32_t stream);
  std::map<std::uint32_t, std::shared_ptr<const std::string>> all() const;

  /// Whether a picture of the stream is wanted now: five a second while somebody looks.
  bool is_due(std::uint32_t stream);
  void put(std::uint32_t stream, std::string jpeg);

 private:
  struct Picture {
    std::shared_ptr<const std::string> jpeg;
    Time made{};
  };
  const bool always_;
  mutable std::mutex mutex_;
  Time looked_{};
  std::map<std::uint32_t, Picture> pictures_;
};

inline constexpr const char* kPreviewElement = "tenon.preview";

/// Adds a sink to `spec` that fills `previews` with what comes to the last sinks of each stream. It has a thread of its own, and
/// drops what it is too slow for. It draws what was found on pictures that came by no element that draws.
void add_previews(elements::PipelineSpec& spec, std::shared_ptr<Previews> previews);

}  // namespace tenon::tool
