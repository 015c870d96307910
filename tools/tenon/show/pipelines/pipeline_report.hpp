// SPDX-License-Identifier: Apache-2.0
// The report of a pipeline's work so far: as a table, a line, JSON, and in Prometheus' text format.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/elements/pipeline.hpp>

namespace tenon::tool {

/// Its nodes in the order of the plan, without those that the tool added itself.
struct PipelineReport {
  struct Node {
    elements::NodeStats stats;
    bool is_source = false;
    std::vector<std::size_t> to;         ///< Indices of the nodes that it feeds.
    std::vector<std::uint32_t> streams;  ///< The streams that pass through it.
    double fps = 0;                      ///< The rate of about the last second; at the end, that of the whole run.
    /// The frames that the node took in; for a source, those that it gave.
    std::uint64_t frames() const { return is_source ? stats.frames_out : stats.frames_in; }
    double copied_per_frame() const;
  };
  double seconds = 0;
  bool interrupted = false;
  std::size_t streams = 0;
  std::vector<Node> nodes;
  std::vector<elements::Failure> failures;

  std::string to_json() const;
  /// A table with a line for each node.
  std::string to_text() const;
  /// One line, for logs.
  std::string to_line() const;
  /// Prometheus' text format, version 0.0.4.
  std::string to_prometheus() const;
};

/// Takes samples of a running pipeline.
/// @thread sample() and finish() one at a time; latest() any, without waiting for other threads.
class PipelineWatch {
 public:
  /// @param hidden  The element whose nodes the tool added.
  PipelineWatch(const elements::Pipeline& pipeline, std::string hidden);

  void sample() { publish(take()); }
  /// The last sample, with the rates of the whole run.
  void finish(bool interrupted);
  std::shared_ptr<const PipelineReport> latest() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  PipelineReport take();
  void publish(PipelineReport report);

  const elements::Pipeline& pipeline_;
  const Time begin_;
  Time last_;
  std::vector<std::size_t> shown_;  ///< Indices in the plan.
  PipelineReport before_;
  mutable std::mutex mutex_;
  std::shared_ptr<const PipelineReport> latest_;
};

/// A duration such as "1.25 ms"; "-" for none.
std::string in_time(std::chrono::nanoseconds duration);
/// A failure in one sentence that names the element.
std::string text_of(const elements::Failure& failure);

}  // namespace tenon::tool
