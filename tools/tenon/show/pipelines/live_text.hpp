// SPDX-License-Identifier: Apache-2.0
// Shows a running pipeline as text: a table that redraws itself on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>

#include <tenon/tools/tenon/show/pipelines/pipeline_report.hpp>

namespace tenon::tool {

/// @thread one at a time.
class LiveText {
 public:
  LiveText(bool quiet, std::FILE* out = stdout);
  ~LiveText() { clear(); }
  LiveText(const LiveText&) = delete;
  LiveText& operator=(const LiveText&) = delete;

  /// Draws at most four times a second on a terminal, every two seconds elsewhere.
  void update(const PipelineReport& report);
  /// Removes the table, so that other text may follow.
  void clear();

 private:
  using Time = std::chrono::steady_clock::time_point;
  std::chrono::milliseconds period() const { return std::chrono::milliseconds(is_terminal_ ? 250 : 2000); }

  const bool is_quiet_, is_terminal_;
  std::FILE* const out_;
  Time next_;
  std::size_t lines_ = 0;  ///< Lines of the table on the terminal.
};

}  // namespace tenon::tool
