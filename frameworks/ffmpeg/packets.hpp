// SPDX-License-Identifier: Apache-2.0
// Packets of a video stream that are kept after they were decoded, and files that they are written to as they are.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/file.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/core/unfinished.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// The codec of a stream of packets.
struct PacketStream {
  std::shared_ptr<const AVCodecParameters> codec;
  AVRational time_base{1, 1'000'000'000};
  std::vector<std::uint8_t> display_matrix = {};  ///< FFmpeg's, where the container says that pictures are turned.
  /// Changes when the stream is opened again: its packets do not continue those before.
  std::uint64_t generation = 0;
};

/// The last packets of a stream, from a keyframe on, and of those before it. A Video fills it (Options::packets), any number of others read,
/// by the generation that a frame names: pictures come later than packets, so a stream that ended is still read while the next one begins.
/// @thread any. @cost a lock for each packet; packets are references, their bytes are not copied.
class PacketRing {
 public:
  /// @param keep  Packets stay for so long at least, by their own times; those of the next stream follow on, and times that jump by more than
  /// 10 s, or back, count as the usual step.
  /// @param most_bytes  When there are more of all streams, older ones go earlier, a group of pictures at a time.
  PacketRing(std::chrono::nanoseconds keep, std::size_t most_bytes) : keep_(keep), most_bytes_(most_bytes) {
    line_.next(0, 0);  // The line begins with 0, whatever the first packet says.
    line_.begin_again();
  }

  /// Another stream begins, which does not continue the one before. @errors kResourceExhausted
  void begin(const AVStream& stream);
  /// Packets before the first keyframe are left out. @errors kResourceExhausted
  void add(const AVPacket& packet);

  /// That of the stream which packets are added to; 0: none has begun.
  std::uint64_t generation() const;
  /// Nothing: it has not begun, or all its packets are gone.
  std::optional<PacketStream> stream(std::uint64_t generation) const;
  /// The number of the packet of the last keyframe that is shown at `time_ns` or before it, else of the first one there is; nothing: there
  /// is none. @param time_ns  By the packets' own times.
  std::optional<std::uint64_t> keyframe_before(std::uint64_t generation, std::int64_t time_ns) const;
  /// Makes `packet` refer to the packet of that number, instead of what it refers to.
  /// @param generation  That of the stream whose packets are wanted.
  /// @param number  If that packet is gone, it becomes the first that is there, a keyframe.
  /// @return False: it has not come yet, or the stream ended before it. @errors kResourceExhausted
  bool read(std::uint64_t generation, std::uint64_t& number, AVPacket* packet) const;
  /// The time of the last packet; 0: there was none.
  std::int64_t last_time_ns() const;
  std::size_t size_bytes() const;

 private:
  struct Kept {
    PacketStream stream;
    std::uint64_t first = 0;  ///< Number of its first packet, which may be gone.
  };
  struct Keyframe {
    std::uint64_t number = 0;
    std::int64_t time_ns = 0;  ///< On the line.
  };
  /// Numbers of the packets that are there of a stream. @pre The mutex is held.
  struct Numbers {
    const PacketStream* stream = nullptr;  ///< Null: it is not known.
    std::uint64_t first = 0, end = 0;
  };
  Numbers numbers_of(std::uint64_t generation) const;
  void drop_first_group();

  const std::chrono::nanoseconds keep_;
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::deque<Kept> streams_{Kept{}};  ///< The oldest first; all but the last have packets.
  std::deque<PacketPtr> packets_;
  std::uint64_t first_ = 0;         ///< Number of the first packet.
  std::deque<Keyframe> keyframes_;  ///< The first is first_.
  std::size_t bytes_ = 0;
  std::int64_t last_time_ns_ = 0;
  StreamTime line_;  ///< Joins the times of all streams, so that a stray one neither drops packets nor keeps them.
  std::int64_t step_ns_ = usual_step_ns(0);  ///< Between two packets of the stream that packets are added to.
  std::int64_t now_ns_ = 0;                  ///< The latest time on the line.
};

/// Metadata of a frame whose Video keeps its packets.
struct Packets {
  static constexpr metadata::Kind kKind{"ffmpeg.packets"};
  std::shared_ptr<PacketRing> ring;
  std::uint64_t generation = 0;
  std::int64_t time_ns =
      0;  ///< The frame's time by its packets' own times, which are not those of the frame where a clock jumps.
};

/// Whether FFmpeg's muxer of program streams writes the container: .mpg, .vob and their like.
bool is_program_stream(const AVOutputFormat& container);

/// Whether the container has a name for the codec; true where FFmpeg's muxer checks it itself. Those of transport and program streams and of
/// AVI do not: what they have no name for is read as something else, or not at all, and the muxer of program streams may never return.
/// @param tag  The name that the encoder gives its packets; 0: none.
bool container_names(const AVOutputFormat& container, AVCodecID codec, std::uint32_t tag = 0);

/// The time at which a packet is decoded, in nanoseconds; kNoTimestamp: unknown.
std::int64_t decode_time_ns(const AVPacket& packet, AVRational time_base);

/// A file of packets, which appears when it is complete. Nothing is encoded. @thread one at a time.
class PacketFile {
 public:
  /// @errors kNotFound: no such folder; kInvalidArgument: an extension without a container, or one that does not take the codec;
  /// kPermissionDenied
  PacketFile(const std::filesystem::path& path, const PacketStream& stream);
  PacketFile(PacketFile&&) = delete;
  PacketFile& operator=(PacketFile&&) = delete;
  /// Without finish(): removes the temporary file.
  ~PacketFile() { close(); }
  /// Times begin with 0 in the file, and go on where they do not. Takes over the reference.
  /// @errors kResourceExhausted: the disk is full
  void write(AVPacket* packet);
  /// @errors as write()
  void finish();
  std::uint64_t packets_written() const { return packets_; }
  std::uint64_t size_bytes() const { return bytes_; }

 private:
  std::string what() const { return "output \"" + path_.string() + "\""; }
  void open();
  void close() noexcept;
  void check(int error, const char* call) const;

  std::filesystem::path path_;
  PacketStream stream_;
  std::unique_ptr<NewFile> file_;
  Unfinished unfinished_;
  AVFormatContext* format_ = nullptr;
  std::optional<std::int64_t> first_, last_;  ///< Decode times, in the stream's unit.
  std::uint64_t packets_ = 0, bytes_ = 0;
};

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
