// SPDX-License-Identifier: Apache-2.0
// swscale, for formats that Tenon cannot describe. Every conversion is booked.
#pragma once

#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

/// The format of find_common() that swscale writes and that loses the least from `from`. Columns of chroma count before depth.
AVPixelFormat nearest_mapped(AVPixelFormat from);

/// Whether pictures of the two formats hold the same samples in another order (NV12 and I420, RGB and BGR), so that only
/// bytes are moved from one to the other. The ranges must be equal, too.
bool is_other_layout(AVPixelFormat from, AVPixelFormat to);

/// Converts pictures to another format and size. @thread one at a time.
class Converter {
 public:
  Converter() = default;
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
  ~Converter();

  /// Converts `source` into `out`, whose format, size and buffers must be set; copies its properties; books the bytes read as
  /// converted, or as copied where the sizes are equal and is_other_layout() says that no value changes.
  /// @errors kUnimplemented: swscale cannot; kResourceExhausted.
  void convert(const AVFrame& source, AVFrame& out, Ledger& ledger);

 private:
  FramePtr as_yuv(const AVFrame& source, Ledger& ledger);
  /// The source's matrix and range, or core's defaults when unknown; the same on both sides for YUV and grey.
  void set_colours(const AVFrame& source, AVFrame& out);

  SwsContext* context_ = nullptr;
};

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
