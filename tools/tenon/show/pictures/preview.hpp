// SPDX-License-Identifier: Apache-2.0
// Small pictures of the streams of a pipeline, for the web page.
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

  /// @param always  Make pictures once a second even while no page asks for them: for a report.
  explicit Previews(bool always) : always_(always) {}
  /// The latest picture; null: there is none yet. Notes that a page asks for pictures.
  std::shared_ptr<const std::string> latest(std::uint32_t stream);
  std::map<std::uint32_t, std::shared_ptr<const std::string>> all() const;

  /// Whether a picture of the stream is wanted now: five a second while a page asks for them.
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

/// Adds a sink to `spec` that fills `previews` with the frames that come to the last sinks of each stream. The sink has a
/// thread of its own, and drops frames if it is too slow. It draws the detections on pictures that came through no element that
/// draws.
void add_previews(elements::PipelineSpec& spec, std::shared_ptr<Previews> previews);

}  // namespace tenon::tool
