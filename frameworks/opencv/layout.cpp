// SPDX-License-Identifier: Apache-2.0
// Layouts of tensors as matrices, and the reasons where there are none.
#include <tenon/frameworks/opencv/layout.hpp>

#include <climits>
#include <utility>

#include <tenon/core/export.hpp>
#include <tenon/core/shape.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {
namespace detail {

/// @source opencv2/core/types_c.h, CV_MAX_DIM
inline constexpr std::size_t kMaxDims = 32;

TENON_INLINE std::string no_depth_reason(ElementType type) {
  std::string reason = "cv::Mat has no depth for " + std::string(name(type));
  if (type == ElementType::kBool) reason += " (OpenCV's masks are 0 and 255, these are 0 and 1)";
  return reason + "; it has u8, i8, u16, i16, i32, f16, f32 and f64: see the bytes as one of these, or convert";
}

/// Why the strides of `info` cannot be the steps of a cv::Mat; empty when they can.
TENON_INLINE std::string stride_reason(const TensorInfo& info, std::size_t item) {
  const std::size_t rank = info.shape.size();
  std::size_t inner = item;  // Bytes spanned by the axes inside the current one.
  for (std::size_t axis = rank; axis-- > 0;) {
    const auto stride = static_cast<std::size_t>(info.strides[axis]);
    if (info.shape[axis] == 1) continue;  // Never stepped along.
    if (info.strides[axis] < 0 || (stride & (item - 1)) != 0)
      return "byte stride " + std::to_string(info.strides[axis]) + " of axis " + std::to_string(axis) +
             " is not a positive multiple of the element's " + std::to_string(item) + " bytes";
    if (axis + 1 == rank && rank > 1 && stride != item)
      return "elements of the innermost axis lie " + std::to_string(stride) + " bytes apart, and cv::Mat packs them";
    if (stride < inner)
      return "byte stride " + std::to_string(stride) + " of axis " + std::to_string(axis) + " is less than the " +
             std::to_string(inner) + " bytes that the axes inside it span (transposed or overlapping)";
    if (__builtin_mul_overflow(stride, info.shape[axis], &inner)) return "its extent does not fit 63 bits";
  }
  return {};
}

TENON_INLINE bool lay_out_picture(const TensorInfo& info, MatLayout& layout) {
  const std::size_t rank = info.shape.size();
  const auto depth = depth_of(info.type);
  if (!depth || rank < 2 || rank > 3 || info.strides.size() != rank) return false;
  const std::size_t* const shape = info.shape.data();
  const std::ptrdiff_t* const strides = info.strides.data();
  const std::size_t item = size_bytes(info.type), channels = rank == 3 ? shape[2] : 1, pixel = item * channels;
  const auto fits = [](std::size_t extent) { return extent - 1 < INT_MAX; };
  if (!fits(shape[0]) || !fits(shape[1]) || channels - 1 >= CV_CN_MAX ||
      strides[rank - 1] != static_cast<std::ptrdiff_t>(item) ||
      (rank == 3 && strides[1] != static_cast<std::ptrdiff_t>(pixel)) ||
      strides[0] < static_cast<std::ptrdiff_t>(pixel * shape[1]) ||
      (strides[0] & static_cast<std::ptrdiff_t>(item - 1)) != 0) {
    return false;
  }
  layout = {CV_MAKETYPE(*depth, static_cast<int>(channels)), 2, static_cast<int>(shape[0]), static_cast<int>(shape[1]),
            static_cast<std::size_t>(strides[0])};
  return true;
}

TENON_INLINE std::variant<MatLayout, Refusal> lay_out(const TensorInfo& info) {
  const auto depth = depth_of(info.type);
  if (!depth) return Refusal{no_depth_reason(info.type)};
  const std::size_t rank = info.shape.size(), item = size_bytes(info.type);
  if (rank > kMaxDims) {
    return Refusal{"cv::Mat has at most " + std::to_string(kMaxDims) + " dimensions, the tensor has " +
                   std::to_string(rank)};
  }
  bool empty = false;
  for (std::size_t extent : info.shape) {
    if (extent > INT_MAX)
      return Refusal{"an extent of " + std::to_string(extent) + " does not fit cv::Mat's sizes (int)"};
    empty = empty || extent == 0;
  }
  const bool packed = info.strides.empty() || empty;  // Without elements any strides are fine.
  if (!packed) {
    if (std::string reason = stride_reason(info, item); !reason.empty()) return Refusal{std::move(reason)};
  }
  // An axis of one element is never stepped along: its stride may be anything, but a Mat's step must span a row.
  const auto row_step = [&](std::size_t row_bytes) {
    return packed || info.shape[0] == 1 ? row_bytes : static_cast<std::size_t>(info.strides[0]);
  };
  const auto extent = [&](std::size_t axis) { return static_cast<int>(info.shape[axis]); };
  if (rank == 0) return MatLayout{*depth, 2, 1, 1, item};
  if (rank == 1) return MatLayout{*depth, 2, extent(0), 1, row_step(item)};
  if (rank == 2) return MatLayout{*depth, 2, extent(0), extent(1), row_step(item * info.shape[1])};
  const std::size_t channels = info.shape[2], pixel = item * channels;
  const bool interleaved = rank == 3 && channels >= 1 && channels <= CV_CN_MAX &&
                           (packed || info.shape[1] == 1 || static_cast<std::size_t>(info.strides[1]) == pixel);
  if (!interleaved) return MatLayout{*depth, static_cast<int>(rank), -1, -1, 0};
  return MatLayout{CV_MAKETYPE(*depth, static_cast<int>(channels)), 2, extent(0), extent(1),
                   row_step(pixel * info.shape[1])};
}

TENON_INLINE cv::Mat header_of(const MatLayout& layout, const TensorInfo& info, void* data) {
  if (layout.dims == 2) return cv::Mat(layout.rows, layout.columns, layout.type, data, layout.step);
  std::array<int, kMaxDims> sizes;
  std::array<std::size_t, kMaxDims> steps;
  std::size_t inner = size_bytes(info.type);
  bool empty = info.strides.empty();
  for (std::size_t count : info.shape) empty = empty || count == 0;
  for (auto axis = static_cast<std::size_t>(layout.dims); axis-- > 0;) {
    sizes[axis] = static_cast<int>(info.shape[axis]);
    steps[axis] = empty || info.shape[axis] == 1 ? inner : static_cast<std::size_t>(info.strides[axis]);
    inner = steps[axis] * info.shape[axis];
  }
  return cv::Mat(layout.dims, sizes.data(), layout.type, data, steps.data());
}

TENON_INLINE std::string describe(const cv::Mat& mat) {
  static constexpr const char* kDepths[] = {"8U", "8S", "16U", "16S", "32S", "32F", "64F", "16F"};
  std::string text = std::string(kDepths[mat.depth() & 7]) + "C" + std::to_string(mat.channels()) + " [";
  for (int axis = 0; axis < mat.dims; ++axis) text += (axis ? "x" : "") + std::to_string(mat.size[axis]);
  return text + "]";
}

}  // namespace detail
}  // namespace opencv
}  // namespace v1
}  // namespace tenon
