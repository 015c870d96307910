// SPDX-License-Identifier: Apache-2.0
// The report of a run: the way of the frames, the bytes copied on it, and how that was proved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>

#include <tenon/tools/tenon/proof/verdict.hpp>
#include <tenon/tools/tenon/shared/frame_source.hpp>

namespace tenon::tool {

/// One step of the way, with the ledger's counts for it.
struct HopReport {
  std::string edge, from, to;
  std::uint64_t maps = 0, view_hits = 0;
  std::uint64_t copied = 0, converted = 0, transferred = 0, waits = 0;
  HopProof proof;
};

/// The same frames with one hop forced to copy.
struct Comparison {
  double zero_copy_ms = 0, forced_ms = 0;  ///< Per frame, median over the blocks.
  double copied_per_frame = 0;             ///< On the way with the forced copy, by the ledger.
  std::uint64_t blocks = 0, frames_per_block = 0;
  std::string why_not;  ///< Set if there is no comparison.
  double slower() const { return zero_copy_ms > 0 ? forced_ms / zero_copy_ms : 0; }
};

struct RunReport {
  std::string input, model, device, device_name;
  FrameInfo info;
  std::uint64_t frames = 0, detections = 0, requests = 0, replans = 0, size_changes = 0;
  std::uint64_t lost_frames = 0;     ///< Pictures of a camera for which no buffer was free in time.
  std::uint64_t lost_packets = 0;    ///< Packets of a stream that did not arrive, if its elements count them.
  std::uint64_t damaged_frames = 0;  ///< Pictures that came without some of their data.
  std::uint64_t cut_frames = 0;      ///< Pictures with more results than `top_k`.
  std::size_t top_k = 0;
  double seconds = 0, compile_ms = 0, first_inference_ms = 0;
  bool interrupted = false;
  std::string ended_by;  ///< What ended the input early; empty otherwise.
  std::vector<HopReport> hops;
  double converted_to = 0;  ///< Bytes per frame that the input stage writes.
  std::optional<double> map50, map50_95;
  std::optional<Comparison> comparison;
  // The saved picture's copies, booked separately.
  std::string saved, codec, snapshot;
  std::uint64_t saved_copied = 0, saved_converted = 0, saved_left_out = 0;

  double fps() const { return seconds > 0 ? static_cast<double>(frames) / seconds : 0; }
  double per_frame(std::uint64_t HopReport::*member) const;
  std::string to_json() const;
  std::string to_text() const;
};

/// The hops of a run from what the ledgers booked: source to pool, pool to input stage, input stage to device. Every
/// booked byte appears in one of them.
/// @param booked  The ledger of the source. @param inference  The ledger of the inferences on its frames.
std::vector<HopReport> hops_of(const FrameSource& source, const Ledger& booked,
                               const std::vector<LedgerEntry>& inference, std::uint64_t frames,
                               const std::string& device);

/// For several inputs that ran side by side for `seconds`: a line of text, and JSON with the report of each input.
std::string text_of_all(const std::vector<const RunReport*>& reports, double seconds);
std::string json_of_all(const std::vector<const RunReport*>& reports, double seconds);

}  // namespace tenon::tool
