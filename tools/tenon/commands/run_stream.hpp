// SPDX-License-Identifier: Apache-2.0
// One input of a run: its way through the model, and its report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/router.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/compiled_model.hpp>

#include <tenon/tools/tenon/commands/run_options.hpp>
#include <tenon/tools/tenon/commands/run_results.hpp>
#include <tenon/tools/tenon/shared/frame_source.hpp>
#include <tenon/tools/tenon/shared/output_file.hpp>
#include <tenon/tools/tenon/shared/pipeline.hpp>
#include <tenon/tools/tenon/show/pictures/picture.hpp>
#include <tenon/tools/tenon/show/reports/run_report.hpp>

namespace tenon::tool {

/// Opens `input` as the options say. The source books into `ledger`. @errors as FrameSource
std::unique_ptr<FrameSource> open_input(const RunOptions& options, const std::string& input, Ledger& ledger);

/// The readers of frames: the device, and the code that draws and encodes pictures. The source gets one allocation that serves
/// them all, always with a descriptor, so that any other device could import it.
std::vector<Party> readers_of(const RunOptions& options, const CompiledModel& compiled);

/// @thread one at a time; distinct streams from distinct threads.
class Stream {
 public:
  /// Opens the input, and the files that its pictures go to. @errors as open_input(), Pictures, Results::prepare
  Stream(const RunOptions& options, const std::string& input, CommandFiles& files, std::shared_ptr<const Model> model);

  const FrameInfo& info() const { return report_.info; }
  /// The number of frames; nothing for a camera or an endless stream.
  std::optional<std::uint64_t> frames_expected() const;
  /// Whether the input is a camera or a stream, which cannot be played twice.
  bool live() const { return live_; }
  bool decodes() const { return results_.decodes(); }
  std::string note() const { return results_.note(); }

  /// Gives the source memory that the model's device reads in place, and makes the requests.
  void prepare(CompiledModel& compiled, std::uint64_t requests);
  /// Runs all frames, and calls `seen` after each. A failure of the source ends the run, and is kept in failure().
  /// @errors Those of the device.
  void run(const std::function<void()>& seen);
  std::exception_ptr failure() const { return failure_; }
  /// Keeps an exception of run(), if a thread ran it.
  void fail(std::exception_ptr failure);
  /// Whether the written files shall stay. A recording is worth keeping if a camera disconnects; the first half of a
  /// damaged file is not what the user asked for.
  bool keeps() const { return !failure_ || live_; }

  /// Closes the source, which proves its own hop.
  /// @param device  For the report. @param booked  The ledger of the inferences; null: the ledgers of this stream's requests.
  void close(const std::string& device, const Ledger* booked);
  /// Tests the other hops on the last frame, then writes the pictures. @errors Those of writing them.
  void conclude(CompiledModel& compiled, const Model& model);

  RunReport& report() { return report_; }

 private:
  void prove_hops(CompiledModel& compiled, const Model& model);

  const RunOptions& options_;
  Ledger decoding_;
  std::unique_ptr<FrameSource> source_;
  Pictures pictures_;
  Results results_;
  std::unique_ptr<Pipeline> pipeline_;
  RunReport report_;
  Frame last_;
  HopProof written_;
  std::exception_ptr failure_;
  bool live_ = false;
};

}  // namespace tenon::tool
