// SPDX-License-Identifier: Apache-2.0
// Sinks that write packets, for hosts that have the packets apart from the pictures that were decoded from them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/elements/element.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// A stream of packets of pictures.
struct EncodedStream {
  std::string codec;  ///< FFmpeg's name: "h264", "hevc", "vp8", "vp9", "av1", "mpeg4", "mjpeg".
  std::uint32_t width_px = 0, height_px = 0;
  /// What the container has of the codec beside the packets (avcC, hvcC, av1C, headers); empty: nothing.
  std::span<const std::uint8_t> header = {};
  Rotation rotation = Rotation::kNone;  ///< How its pictures are to be turned.
};

/// Times are those of the pictures; kNoTimestamp: unknown.
struct EncodedPacket {
  std::span<const std::uint8_t> bytes;
  std::int64_t shown_ns = kNoTimestamp, decoded_ns = kNoTimestamp, duration_ns = 0;
  bool is_key = false;
};

/// A sink of pictures that writes the packets which they were decoded from. Pictures and packets belong together by their times. Pictures that
/// have their packets among their metadata need no others.
/// @thread The members of this class: one at a time, beside those of Sink.
class TENON_API PacketSink : public Sink {
 public:
  ~PacketSink() override;
  /// Another stream of packets begins. @errors kUnimplemented: a codec that is not known
  virtual void begin_packets(const EncodedStream& stream) = 0;
  /// A packet, in the order of decoding; its bytes are copied. Those before the first keyframe are left out.
  virtual void add_packet(const EncodedPacket& packet) = 0;
};

}  // namespace elements
}  // namespace v1
}  // namespace tenon
