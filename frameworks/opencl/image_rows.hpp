// SPDX-License-Identifier: Apache-2.0
// Rows of linear memory as an image: which fit, and what the image is then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include <tenon/core/edge.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/buffer_edges.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/image.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl::detail {

/// Why the rows of a picture in linear memory are no image; nothing when they can be.
inline std::optional<Refusal> refuses_rows(const Description& from, const ImageContext& images) {
  if (auto refused = images.refusal(from.info.type, from.info.shape, Samples::kNormalised)) return refused;
  const Device& device = images.native().device;
  const Picture picture = picture_of(from.info.shape).value();
  const std::size_t sample = size_bytes(from.info.type), pixel = sample * picture.channels;
  const ByteStrides& strides = from.info.strides;
  if (static_cast<std::size_t>(strides[1]) != pixel ||
      (strides.size() == 3 && static_cast<std::size_t>(strides[2]) != sample))
    return Refusal{"the pixels of a row do not lie side by side"};
  const std::size_t pitch = static_cast<std::size_t>(strides[0]);
  const std::size_t align = std::max<std::size_t>(device.image_pitch_alignment, 1) * pixel;
  if (pitch % align != 0 || pitch < pixel * picture.width_px)
    return Refusal{"rows are " + bytes_text(pitch) + " apart, and images over buffers of " + device.name +
                   " want multiples of " + std::to_string(align) + " (" +
                   std::to_string(std::max<std::size_t>(device.image_pitch_alignment, 1)) + " px)"};
  if (from.offset + pitch * picture.height_px > from.memory_bytes)
    return Refusal{"the last row of the picture is cut off: an image wants all of its pitch"};
  return std::nullopt;
}

/// The image that a tensor of such rows is.
struct RowsOfImage {
  ImageLayout layout;
  cl_image_format format;
};
inline RowsOfImage rows_of_image(const Tensor& source) {
  const Picture picture = picture_of(source.shape()).value();
  return {{picture.width_px, picture.height_px, size_bytes(source.element_type()) * picture.channels, source.offset(),
           static_cast<std::size_t>(source.byte_strides()[0])},
          format_of(source.element_type(), picture.channels, Samples::kNormalised)};
}

}  // namespace opencl::detail
}  // namespace v1
}  // namespace tenon
