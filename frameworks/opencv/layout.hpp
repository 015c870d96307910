// SPDX-License-Identifier: Apache-2.0
// Which tensors a cv::Mat can express: types, extents and steps, both ways.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <variant>

#include <opencv2/core.hpp>

#include <tenon/core/edge.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {

/// cv::Mat's depth for an element type; nothing if OpenCV 4 has none.
constexpr std::optional<int> depth_of(ElementType type) {
  constexpr auto table = [] {
    std::array<short, std::size(kElementTypes)> depths{};
    depths.fill(-1);
    const auto set = [&](ElementType of, int depth) {
      depths[static_cast<std::size_t>(of)] = static_cast<short>(depth);
    };
    set(ElementType::kU8, CV_8U), set(ElementType::kI8, CV_8S);
    set(ElementType::kU16, CV_16U), set(ElementType::kI16, CV_16S);
    set(ElementType::kI32, CV_32S), set(ElementType::kF16, CV_16F);
    set(ElementType::kF32, CV_32F), set(ElementType::kF64, CV_64F);
    return depths;
  }();
  const int depth = table[static_cast<std::size_t>(type)];
  if (depth < 0) return std::nullopt;
  return depth;
}

/// The element type of a cv::Mat's depth; nothing for depths of later versions.
constexpr std::optional<ElementType> element_type_of_depth(int depth) {
  constexpr ElementType types[] = {ElementType::kU8,  ElementType::kI8,  ElementType::kU16, ElementType::kI16,
                                   ElementType::kI32, ElementType::kF32, ElementType::kF64, ElementType::kF16};
  if (depth < 0 || depth >= static_cast<int>(std::size(types))) return std::nullopt;
  return types[depth];
}

namespace detail {

inline constexpr const char* kTiled =
    "its pixels are tiled (a DRM modifier), and OpenCV knows rows only: convert it on the device that made it";

/// Layout of a tensor as a cv::Mat. [h,w,c] with packed pixels of at most CV_CN_MAX channels has two dimensions and c
/// channels; [n] is n rows of one element, as OpenCV treats a std::vector; others keep the tensor's dimensions and have
/// one channel. Small, because every call makes one.
struct MatLayout {
  int type = 0;
  int dims = 2;
  int rows = 1, columns = 1;  ///< For two dimensions; for more, the tensor's extents count.
  std::size_t step = 0;       ///< Bytes from row to row, for two dimensions.
};

/// Fast path: the layout of a packed picture, as most tensors are, in a few comparisons. False decides nothing.
bool lay_out_picture(const TensorInfo& info, MatLayout& layout);

/// The layout of `info` as a cv::Mat, or why there is none. Touches nothing.
std::variant<MatLayout, Refusal> lay_out(const TensorInfo& info);

/// A cv::Mat over `data` that owns nothing. Precondition: `layout` is that of `info`.
/// @errors cv::Exception: an allocation for more than two dimensions.
cv::Mat header_of(const MatLayout& layout, const TensorInfo& info, void* data);

/// "8UC3 [1080x1920]", for messages.
std::string describe(const cv::Mat& mat);

/// Extents and byte strides of a cv::Mat or cv::UMat; channels, if several, are the innermost axis.
/// @errors kUnimplemented: a depth that no element type has.
template <typename AnyMat>
TensorInfo info_of(const AnyMat& mat) {
  const auto type = element_type_of_depth(mat.depth());
  if (!type) {
    throw Error(Code::kUnimplemented, "opencv::wrap: a Mat of depth " + std::to_string(mat.depth()) +
                                          ", which no element type of Tenon has; convert it with convertTo first");
  }
  TensorInfo info{*type, {}, {}};
  for (int axis = 0; axis < mat.dims; ++axis) {
    info.shape.push_back(static_cast<std::size_t>(mat.size[axis]));
    info.strides.push_back(static_cast<std::ptrdiff_t>(mat.step[axis]));
  }
  if (mat.channels() > 1) {
    info.shape.push_back(static_cast<std::size_t>(mat.channels()));
    info.strides.push_back(static_cast<std::ptrdiff_t>(mat.elemSize1()));
  }
  return info;
}

/// Converts OpenCV's exceptions: the call that failed, its code and its message. `what` is called only then.
template <typename What, typename Body>
auto checked(const char* call, What what, Body body) {
  try {
    return body();
  } catch (const cv::Exception& error) {
    throw Error(error.code == cv::Error::StsNoMem ? Code::kResourceExhausted : Code::kInternal,
                "opencv: " + what() + ": " + error.err, call, error.code);
  }
}

}  // namespace detail
}  // namespace opencv
}  // namespace v1
}  // namespace tenon
