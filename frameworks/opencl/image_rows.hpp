// SPDX-License-Identifier: Apache-2.0
// Rows of linear memory as an image: which fit, and what the image is then.
#pragma once

#include <optional>

#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/image.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl::detail {

/// Why the rows of a picture in linear memory are no image; nothing when they can be.
std::optional<Refusal> refuses_rows(const Description& from, const ImageContext& images);

/// The image that a tensor of such rows is.
struct RowsOfImage {
  ImageLayout layout;
  cl_image_format format;
};
RowsOfImage rows_of_image(const Tensor& source);

}  // namespace opencl::detail
}  // namespace v1
}  // namespace tenon
