// SPDX-License-Identifier: Apache-2.0
// swscale, for formats that Tenon cannot describe. Every conversion is booked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

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

/// How pictures are converted.
enum class Quality : std::uint8_t {
  /// Chroma and scaled pictures are interpolated by bicubic filters, and values rounded.
  kExact,
  /// Pixels have the chroma of their block where libswscale has code for that, which takes a twentieth of the time: values
  /// are within 2 of the rounded ones (of 255). Elsewhere filters are bilinear.
  kFast
};

/// Converts pictures to another format and size. @thread one at a time.
class Converter {
 public:
  /// @param threads  Work on slices of a picture; 0: one for each processor.
  explicit Converter(Quality quality = Quality::kExact, int threads = 1) : quality_(quality), threads_(threads) {}
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
  ~Converter();

  /// Converts `source` into `out`, whose format, size and buffers must be set; copies its properties; books the bytes read as
  /// converted, or as copied where the sizes are equal and is_other_layout() says that no value changes.
  /// @errors kUnimplemented: swscale cannot; kResourceExhausted.
  void convert(const AVFrame& source, AVFrame& out, Ledger& ledger);

 private:
  /// What a context is made for.
  struct Kind {
    AVPixelFormat from = AV_PIX_FMT_NONE, to = AV_PIX_FMT_NONE;
    int width = 0, height = 0, out_width = 0, out_height = 0;
    bool is_direct = false;  ///< libswscale converts by code for this pair of formats, not by filters.
    bool operator==(const Kind&) const = default;
  };

  /// The format that the source is brought to before it is converted; AV_PIX_FMT_NONE: it is converted as it is.
  AVPixelFormat format_between(const AVFrame& source, const AVFrame& out) const;
  const AVFrame& brought_to(AVPixelFormat format, const AVFrame& source, Ledger& ledger);
  /// @param from  The source's format, or the one that it is brought to.
  bool is_direct(AVPixelFormat from, const AVFrame& source, const AVFrame& out) const;
  /// @errors kUnimplemented: swscale cannot.
  void prepare(const Kind& kind, const std::string& what);
  /// The source's matrix and range, or core's defaults when unknown; the same on both sides for YUV and grey.
  void set_colours(const AVFrame& source, AVFrame& out);

  const Quality quality_;
  const int threads_;
  SwsContext* context_ = nullptr;
  Kind kind_;  ///< That of context_.
  FramePtr between_;
  std::unique_ptr<Converter> first_;  ///< Writes between_.
};

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
