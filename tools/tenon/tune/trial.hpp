// SPDX-License-Identifier: Apache-2.0
// Runs a pipeline for a short time, and measures it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <tenon/elements/pipeline_spec.hpp>

namespace tenon::tool {

/// A folder that is removed with all that is in it.
class ScratchFolder {
 public:
  /// @errors kPermissionDenied, kResourceExhausted: it cannot be made.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  /// Removes what trials have written.
  void empty() const;

 private:
  std::filesystem::path path_;
};

/// Makes a pipeline one that can run again and again without an effect on anything else: files begin again at their end, what sinks write goes into
/// `scratch`, and sinks that send frames or results elsewhere are replaced by the element null.
/// @param spec       With names and connections for every node, as named() gives it.
/// @param real_time  Sources give frames at the pace of their times; else as fast as the pipeline takes them.
/// @param notes      Gets a sentence about each node that is replaced.
elements::PipelineSpec repeatable(elements::PipelineSpec spec, const std::filesystem::path& scratch, bool real_time,
                                  std::vector<std::string>* notes = nullptr);

/// The same with `count` streams: the first sources of `spec`, where there are more, else copies of them by turns.
elements::PipelineSpec with_streams(elements::PipelineSpec spec, std::size_t count);

struct TrialOptions {
  double warm_up_s = 0.5, seconds = 2;
  double first_frame_s = 120;  ///< How long it may take until every stream has given a frame: models are compiled.
  double late_ms =
      100;  ///< A frame is late if it takes this much longer, from its time in the stream to a sink, than the fastest one.
};

struct TrialResult {
  struct Stream {
    std::uint32_t stream = 0;
    std::uint64_t frames = 0, late = 0;
    double expected = 0;  ///< Frames that its rate gives in the window; 0: the rate is not known.
    /// The share of frames that came late or not at all.
    double bad_share() const;
  };
  double seconds = 0;
  std::uint64_t dropped = 0;
  std::vector<Stream> streams;    ///< As the sink that got the fewest frames of the stream saw it.
  double p50_ms = 0, p99_ms = 0;  ///< From a source's reading of a frame to a sink.
  std::string failure;            ///< Why it did not run; empty: it ran.

  double fps() const;
  /// The largest bad_share() of all streams.
  double worst_share() const;
};

/// Runs a pipeline that repeatable() made. Measures after all streams have begun and a time to warm up. A pipeline that fails, ends or gives no
/// frames gives a result that says so. @errors kCancelled: Ctrl-C.
TrialResult run_trial(const elements::PipelineSpec& spec, const TrialOptions& options);

}  // namespace tenon::tool
