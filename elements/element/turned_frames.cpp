// SPDX-License-Identifier: Apache-2.0
#include <tenon/elements/internal/turned_frames.hpp>

#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/upright.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

FrameInfo stored_upright(const FrameInfo& info) {
  FrameInfo upright = info;
  upright.width_px = info.upright_width_px();
  upright.height_px = info.upright_height_px();
  upright.rotation = Rotation::kNone;
  return upright;
}

TurnedFrames::TurnedFrames(std::string owner, Ledger& ledger, std::size_t limit)
    : owner_(std::move(owner)), ledger_(ledger), host_(&ledger), results_(host_context(), limit) {}

StreamInfo TurnedFrames::upright(const StreamInfo& in) const {
  StreamInfo out = in;
  out.frame = stored_upright(in.frame);
  if (in.frame.format.fourcc == 0 || in.frame.width_px == 0) return out;
  if (is_quarter_turn(in.frame.rotation)) std::swap(out.aspect_num, out.aspect_den);
  check(in.frame);
  return out;
}

Frame TurnedFrames::copied(const Frame& frame, Rotation change) {
  static const EdgeId edge = register_edge("frame->turned");
  FrameInfo info = frame.info();
  info.rotation = change;
  check(info);
  Frame to = results_.acquire(stored_upright(info));
  ledger_.book_map(edge, false);
  ledger_.book_copied(edge, copy_upright(host_.map(frame), change, to));
  to.set_timestamp_ns(frame.timestamp_ns());
  if (!frame.metadata().empty()) to.metadata() = frame.metadata();
  return to;
}

void TurnedFrames::check(const FrameInfo& info) const {
  if (info.rotation == Rotation::kNone || turns_into_itself(info.format)) return;
  throw Error(Code::kUnimplemented, owner_ + ": pictures of " + to_string(info.format) +
                                        " share chroma between two columns but not two rows, and are not turned; "
                                        "convert to another format before, such as nv12 or rgb");
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
