// SPDX-License-Identifier: Apache-2.0
// What a client submits for one picture to decode, and how a codec turns it into a piece of stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <va/va.h>

#include <tenon/drivers/vaapi/codec/bits.hpp>
#include <tenon/drivers/vaapi/objects/display.hpp>

namespace tenon::va {

/// One slice (or tile, or scan): its parameters, copied, and its bytes, in the client's buffer.
struct Slice {
  Bytes parameters;
  std::span<const std::uint8_t> data;
};

struct Picture {
  Bytes parameters, iq_matrix, huffman;
  std::vector<Slice> slices;
};

/// The structure at the front of what a client gave; none if that is shorter.
template <class T>
std::optional<T> structure(std::span<const std::uint8_t> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// The part of a slice's buffer that its parameters name; empty if they name more than there is.
inline std::span<const std::uint8_t> part(std::span<const std::uint8_t> data, std::size_t offset, std::size_t size) {
  return offset <= data.size() && size <= data.size() - offset ? data.subspan(offset, size)
                                                               : std::span<const std::uint8_t>();
}

/// Rebuilds the stream that a client took apart. Keeps what must not be repeated with each picture.
class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  /// Sizes of the structures, by which buffers are judged when they are rendered.
  virtual std::size_t picture_bytes() const = 0;
  virtual std::size_t slice_bytes() const = 0;
  /// Appends one picture, ready for the decoder.
  virtual VAStatus write(const Picture& picture, Bytes& stream) = 0;
  /// @name Pictures that wait for the next one
  /// Where only the next picture tells what becomes of one (AV1's references), write() may put it off.
  /// @{
  /// Whether the last write() did, and wrote nothing.
  virtual bool holds() const { return false; }
  /// Appends the picture that was put off, as `next` wants it; null: the next one is not known yet.
  virtual void release(const Picture* /*next*/, Bytes& /*stream*/) {}
  /// @}
  /// The number of pixels that its picture says it has, by which the decoder's tables are made; 0: it makes none.
  virtual std::int64_t pixels(const Picture& /*picture*/) const { return 0; }
  /// Whether the decoder may run ahead with the last picture (see Decoder). Becomes false with a new sequence only.
  virtual bool may_run_ahead() const { return true; }
  /// The surfaces that a picture refers to, of codecs whose clients make a new context for a new size and go on with them.
  virtual std::vector<VASurfaceID> references(const Picture& /*picture*/) const { return {}; }
  /// A surface that shows the last picture besides the target, which is only a reference then (AV1's film grain).
  virtual VASurfaceID shown_surface() const { return VA_INVALID_SURFACE; }
};

std::unique_ptr<StreamWriter> make_h264_writer();
std::unique_ptr<StreamWriter> make_hevc_writer();
std::unique_ptr<StreamWriter> make_vp9_writer();
std::unique_ptr<StreamWriter> make_jpeg_writer();
std::unique_ptr<StreamWriter> make_av1_writer();

}  // namespace tenon::va
