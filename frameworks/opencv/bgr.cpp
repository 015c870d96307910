// SPDX-License-Identifier: Apache-2.0
// Rows of any format to BGR, on OpenCV's threads.
#include <tenon/frameworks/opencv/bgr.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/core/utility.hpp>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencv/frame.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {
namespace detail {

/// Converts rows of a frame. Integer sums with 16 bits of fraction: within one of exact rounding.
class BgrRows {
 public:
  BgrRows(const Frame& frame, cv::Mat& out)
      : layout_(frame_layout(frame.info())), out_(out), width_(frame.info().width_px) {
    const ColourMap map = rgb_from(frame.info(), layout_);
    down_ = layout_.bits > kMaxBits ? layout_.bits - kMaxBits : 0;
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t k = 0; k < 3; ++k) matrix_[c][k] = fixed(map.matrix[c][k] * (1 << down_));
      offset_[c] = fixed(map.offset[c]) + (1 << (kFraction - 1));
    }
    for (std::size_t p = 0; p < layout_.plane_count; ++p) {
      base_[p] = static_cast<const std::uint8_t*>(frame.plane(p).data());
      pitch_[p] = frame.plane(p).byte_strides()[0];
    }
  }

  void convert(int begin, int end) const {
    std::vector<std::int32_t> chroma(3 * (static_cast<std::size_t>(width_) + 1));
    for (int y = begin; y < end; ++y) {
      if (layout_.bits > 8)
        row<std::uint16_t>(y, chroma.data());
      else
        row<std::uint8_t>(y, chroma.data());
    }
  }

 private:
  static constexpr int kFraction = 16;
  static constexpr int kMaxBits = 12;  ///< With more the matrix would have too few.
  static std::int32_t fixed(double value) {
    return static_cast<std::int32_t>(std::lround(value * static_cast<double>(1 << kFraction)));
  }
  static std::uint8_t clamped(std::int32_t value) {
    return static_cast<std::uint8_t>(std::clamp(value >> kFraction, 0, 255));
  }

  std::int32_t value(std::uint8_t sample) const { return sample; }
  std::int32_t value(std::uint16_t sample) const { return layout_.value_of(sample) >> down_; }

  template <typename T>
  void row(int y, std::int32_t* chroma) const {
    std::array<const T*, 3> from{};
    for (std::size_t k = 0; k < layout_.component_count; ++k) {
      const FrameComponent& c = layout_.components[k];
      from[k] = reinterpret_cast<const T*>(base_[c.plane] + (y >> c.shift_y) * pitch_[c.plane]) + c.offset;
    }
    auto* const bgr = out_.ptr<std::uint8_t>(y);
    const std::size_t step = layout_.components[0].step;
    if (layout_.component_count == 1 || !layout_.is_yuv) {
      for (std::size_t x = 0; x < width_; ++x) {
        for (std::size_t c = 0; c < 3; ++c) {
          const std::size_t k = layout_.component_count == 1 ? 0 : 2 - c;
          bgr[3 * x + c] = clamped(offset_[2 - c] + matrix_[2 - c][k] * value(from[k][x * step]));
        }
      }
      return;
    }
    // A chroma sample's share of blue, green and red is computed once for the pixels that share it.
    const FrameComponent& u = layout_.components[1];
    const std::size_t samples = (width_ + (std::size_t{1} << u.shift_x) - 1) >> u.shift_x;
    const std::size_t chroma_step = u.step;
    for (std::size_t x = 0; x < samples; ++x) {
      const std::int32_t cb = value(from[1][x * chroma_step]), cr = value(from[2][x * chroma_step]);
      chroma[3 * x] = offset_[2] + matrix_[2][1] * cb + matrix_[2][2] * cr;
      chroma[3 * x + 1] = offset_[1] + matrix_[1][1] * cb + matrix_[1][2] * cr;
      chroma[3 * x + 2] = offset_[0] + matrix_[0][1] * cb + matrix_[0][2] * cr;
    }
    for (std::size_t x = 0; x < width_; ++x) {
      const std::int32_t luma = matrix_[0][0] * value(from[0][x * step]);
      const std::int32_t* const shared = chroma + 3 * (x >> u.shift_x);
      bgr[3 * x] = clamped(luma + shared[0]);
      bgr[3 * x + 1] = clamped(luma + shared[1]);
      bgr[3 * x + 2] = clamped(luma + shared[2]);
    }
  }

  FrameLayout layout_;
  int down_ = 0;
  cv::Mat& out_;
  std::size_t width_;
  std::int32_t matrix_[3][3] = {}, offset_[3] = {};
  std::array<const std::uint8_t*, 4> base_{};
  std::array<std::ptrdiff_t, 4> pitch_{};
};

TENON_INLINE void check_rows(const Frame& frame) {
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    const Tensor& plane = frame.plane(p);
    const auto sample = static_cast<std::ptrdiff_t>(size_bytes(plane.element_type()));
    const ByteStrides& strides = plane.byte_strides();
    const auto channels = plane.shape().size() == 3 ? static_cast<std::ptrdiff_t>(plane.shape()[2]) : 1;
    if (plane.is_host_addressable() && strides.back() == sample && strides[1] == sample * channels &&
        strides[0] % sample == 0)
      continue;
    throw Error(Code::kFailedPrecondition,
                "opencv::bgr of frame " + describe(frame.info()) + ": plane " + std::to_string(p) + " (" +
                    to_string(plane) + ") " +
                    (plane.is_host_addressable()
                         ? "has byte strides " + to_string(strides) + ", and rows of packed pixels are read"
                         : "cannot be reached by the CPU; map it to host_context() with a Router"));
  }
}

}  // namespace detail

TENON_INLINE void bgr(const Frame& frame, cv::Mat& out, const MatOptions& options) {
  if (frame.plane_count() == 0)
    throw Error(Code::kInvalidArgument, "opencv::bgr: an empty frame or a batch; give it single pictures");
  const FrameInfo& info = frame.info();
  if (info.width_px > INT_MAX / 4 || info.height_px > INT_MAX)
    throw Error(Code::kInvalidArgument, "opencv::bgr of frame " + detail::describe(info) + ": cv::Mat counts in ints");
  detail::check_rows(frame);
  const Deadline deadline = options.deadline == Deadline::max() ? default_deadline() : options.deadline;
  Ledger& ledger = options.ledger ? *options.ledger : Ledger::process();
  for (const Tensor& plane : frame.planes()) {
    if (plane.memory()->has_hazards()) plane.memory()->wait_for(Access::kRead, deadline, &ledger);
  }
  static const EdgeId edge = register_edge("opencv.bgr");
  detail::checked(
      "cv::Mat::create", [&] { return "frame " + detail::describe(info) + " as BGR"; },
      [&] {
        cv::Mat stored;
        cv::Mat& target = info.rotation == Rotation::kNone ? out : stored;
        target.create(static_cast<int>(info.height_px), static_cast<int>(info.width_px), CV_8UC3);
        const detail::BgrRows rows(frame, target);
        // OpenCV joins its threads where no sanitizer looks; this they see.
        std::atomic<int> converted{0};
        cv::parallel_for_(cv::Range(0, target.rows), [&](const cv::Range& range) {
          rows.convert(range.start, range.end);
          converted.fetch_add(1, std::memory_order_release);
        });
        static_cast<void>(converted.load(std::memory_order_acquire));
        if (info.rotation == Rotation::kNone) return 0;
        if (is_mirrored(info.rotation)) {
          cv::flip(stored, degrees(info.rotation) == 0 ? out : stored, 1);
          ledger.book_copied(edge, stored.total() * stored.elemSize());
        }
        const unsigned turn = degrees(info.rotation);
        if (turn == 0) return 0;
        cv::rotate(stored, out,
                   turn == 90    ? cv::ROTATE_90_CLOCKWISE
                   : turn == 180 ? cv::ROTATE_180
                                 : cv::ROTATE_90_COUNTERCLOCKWISE);
        ledger.book_copied(edge, stored.total() * stored.elemSize());
        return 0;
      });
  ledger.book_map(edge, false);
  ledger.book_converted(edge, frame.size_bytes());
}
TENON_INLINE cv::Mat bgr(const Frame& frame, const MatOptions& options) {
  cv::Mat out;
  bgr(frame, out, options);
  return out;
}

}  // namespace opencv
}  // namespace v1
}  // namespace tenon
