// SPDX-License-Identifier: Apache-2.0
// What a run says of itself: the way that frames took, what was copied on it, how that was proved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>

#include <tenon/tools/tenon/proof/hop_proof.hpp>

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
  double copied_per_frame = 0;             ///< On the forced way, by the ledger.
  std::uint64_t blocks = 0, frames_per_block = 0;
  std::string why_not;  ///< Set when it could not be made.
  double slower() const { return zero_copy_ms > 0 ? forced_ms / zero_copy_ms : 0; }
};

struct RunReport {
  std::string input, model, device, device_name;
  FrameInfo info;
  std::uint64_t frames = 0, detections = 0, requests = 0, replans = 0, size_changes = 0;
  double seconds = 0, compile_ms = 0, first_inference_ms = 0;
  bool interrupted = false;
  std::string ended_by;  ///< What stopped the input before its end; empty otherwise.
  std::vector<HopReport> hops;
  double converted_to = 0;  ///< Bytes per frame that the input stage writes.
  std::optional<double> map50, map50_95;
  std::optional<Comparison> comparison;
  // The picture's own account.
  std::string saved, codec, snapshot;
  std::uint64_t saved_copied = 0, saved_converted = 0, saved_left_out = 0;

  double fps() const { return seconds > 0 ? static_cast<double>(frames) / seconds : 0; }
  double per_frame(std::uint64_t HopReport::*member) const;
  std::string to_json() const;
  std::string to_text() const;
};

/// The hops of a way from what the ledgers booked: decoder to pool, pool to input stage, input stage to device. Every
/// byte that was booked appears in one of them.
/// @param codec     "h264"
/// @param lies_in   Where frames came to lie: "pool(memfd)"
/// @param buffers   Buffers that the pool made.
std::vector<HopReport> hops_of(const Ledger& decoder, const Ledger& inference, std::uint64_t frames,
                               const std::string& codec, const std::string& lies_in, std::uint64_t buffers,
                               const std::string& device);

}  // namespace tenon::tool
