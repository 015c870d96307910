// SPDX-License-Identifier: Apache-2.0
// The buffers that a client submits for one picture, and the interface that turns them into a piece of stream.
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

/// The structure at the front of a client's buffer; nothing if the buffer is shorter.
template <class T>
std::optional<T> structure(std::span<const std::uint8_t> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// The part of a slice's buffer that its parameters name; empty if that exceeds the buffer.
inline std::span<const std::uint8_t> part(std::span<const std::uint8_t> data, std::size_t offset, std::size_t size) {
  return offset <= data.size() && size <= data.size() - offset ? data.subspan(offset, size)
                                                               : std::span<const std::uint8_t>();
}

/// Rebuilds the stream that a client parsed. Keeps state so that parameter sets are not repeated with each picture.
class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  /// Sizes of the structures, for checks when buffers are rendered.
  virtual std::size_t picture_bytes() const = 0;
  virtual std::size_t slice_bytes() const = 0;
  /// Appends one picture, ready for the decoder.
  virtual VAStatus write(const Picture& picture, Bytes& stream) = 0;
  /// @name Pictures that wait for the next one
  /// If only the next picture tells whether one is a reference (AV1), write() may defer it.
  /// @{
  /// Whether the last write() deferred its picture and wrote nothing.
  virtual bool holds() const { return false; }
  /// Appends the deferred picture, as `next` refers to it; null: the next picture is not known yet.
  virtual void release(const Picture* /*next*/, Bytes& /*stream*/) {}
  /// @}
  /// The number of pixels in the picture's own headers, for which the decoder allocates tables; 0: it allocates none.
  virtual std::int64_t pixels(const Picture& /*picture*/) const { return 0; }
  /// Whether the decoder may run ahead with the last picture (see Decoder). Becomes false with a new sequence only.
  virtual bool may_run_ahead() const { return true; }
  /// The surfaces to which a picture refers. For codecs whose clients create a new context for a new size and continue
  /// with the old references.
  virtual std::vector<VASurfaceID> references(const Picture& /*picture*/) const { return {}; }
  /// A picture did not reach the decoder: the next one repeats what it has to know of the sequence, without which it would decode
  /// none any more.
  virtual void repeat_sequence() noexcept {}
  /// A surface that shows the last picture besides the target, which is only a reference then (AV1's film grain).
  virtual VASurfaceID shown_surface() const { return VA_INVALID_SURFACE; }
};

std::unique_ptr<StreamWriter> make_h264_writer();
std::unique_ptr<StreamWriter> make_hevc_writer();
std::unique_ptr<StreamWriter> make_vp9_writer();
std::unique_ptr<StreamWriter> make_jpeg_writer();
std::unique_ptr<StreamWriter> make_av1_writer();

}  // namespace tenon::va
