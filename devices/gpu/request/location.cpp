// SPDX-License-Identifier: Apache-2.0
// Rows, pitches, images and pointers.
#include <tenon/devices/gpu/request/location.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <tenon/devices/gpu/remote/params.hpp>
#include <tenon/devices/gpu/remote/remote.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

bool is_of(const Gpu& gpu, const Tensor& tensor) {
  if (tensor.context() == gpu.context()) return tensor.kind() == opencl::kBufferMemory;
  const auto* facet = tensor.context().as<opencl::FacetContext>();
  return facet && tensor.kind() == opencl::kBufferMemory && facet->native().context.get() == gpu.native().context.get();
}

/// Whether a tensor begins where an element of its memory does.
bool is_aligned(const Tensor& tensor) {
  const std::size_t element = size_bytes(tensor.element_type());
  return element <= 1 || tensor.offset() % element == 0;
}

/// Whether kernels, which count elements in 32 bits, reach all of so many rows at a pitch.
bool is_reached(std::size_t rows, std::size_t pitch, std::size_t element) {
  return rows == 0 || pitch / element <= std::size_t{std::numeric_limits<std::int32_t>::max()} / rows;
}

/// Bytes from row to row of planes [n, rows, columns, samples], or without the first axis, whose samples lie side by side
/// within a row, and rows of all of them at one pitch; 0 for any other tensor.
std::size_t pitch_of(const Tensor& tensor) {
  const std::size_t rank = tensor.shape().size(), element = size_bytes(tensor.element_type());
  if (rank < 3 || rank > 4 || tensor.byte_strides().size() != rank) return 0;
  const auto stride = [&](std::size_t from_end) {
    return static_cast<std::size_t>(tensor.byte_strides()[rank - from_end]);
  };
  const Shape& shape = tensor.shape();
  const std::size_t row = shape[rank - 1] * shape[rank - 2] * element;
  const bool is_side_by_side = (shape[rank - 1] == 1 || stride(1) == element) &&
                               (shape[rank - 2] == 1 || stride(2) == shape[rank - 1] * element);
  if (!is_side_by_side) return 0;
  const bool is_pitch = stride(3) % element == 0 && tensor.byte_strides()[rank - 3] >= static_cast<std::ptrdiff_t>(row);
  const std::size_t pitch = shape[rank - 3] <= 1 ? row : is_pitch ? stride(3) : 0;
  const bool follows = rank == 3 || shape[0] == 1 || stride(4) == pitch * shape[1];
  const std::size_t rows = shape[rank - 3] * (rank == 3 ? 1 : shape[0]);
  return follows && is_reached(rows, pitch, element) ? pitch : 0;
}

/// The letters of a pixel's components, in the order in which they lie in memory; "" for orders that no tensor has.
std::string components_of(cl_channel_order order) {
  switch (order) {
    case CL_R:
    case CL_LUMINANCE:
    case CL_INTENSITY:
      return "x";
    case CL_A:
      return "w";
    case CL_RG:
      return "xy";
    case CL_RA:
      return "xw";
    case CL_RGBA:
      return "xyzw";
    case CL_BGRA:
      return "zyxw";
    case CL_ARGB:
      return "wxyz";
    default:
      return {};
  }
}

/// How a tensor lies as rows at a pitch: elements that are side by side, and from row to row.
struct Rows {
  std::size_t elements = 0, pitch = 0;
};
/// Nothing if it does not lie so.
std::optional<Rows> rows_of(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const ByteStrides& strides = tensor.byte_strides();
  const auto element = static_cast<std::ptrdiff_t>(size_bytes(tensor.element_type()));
  if (element == 0 || strides.size() != shape.size() || tensor.size_bytes() == 0) return std::nullopt;
  Rows rows{1, 0};
  std::ptrdiff_t step = element;
  std::size_t axis = shape.size();
  for (; axis > 0 && (shape[axis - 1] == 1 || strides[axis - 1] == step); --axis) {
    step *= static_cast<std::ptrdiff_t>(shape[axis - 1]);
    rows.elements *= shape[axis - 1];
  }
  // Axes of extent 1 in front say nothing of rows.
  while (axis > 0 && shape[axis - 1] == 1) --axis;
  if (axis == 0) return Rows{rows.elements, rows.elements * static_cast<std::size_t>(element)};
  const std::ptrdiff_t pitch = strides[axis - 1];
  if (pitch < step || pitch % element != 0) return std::nullopt;
  rows.pitch = static_cast<std::size_t>(pitch);
  if (!is_reached(element_count(shape) / rows.elements, rows.pitch, static_cast<std::size_t>(element)))
    return std::nullopt;
  step = pitch;
  for (; axis > 0; --axis) {
    if (shape[axis - 1] != 1 && strides[axis - 1] != step) return std::nullopt;
    step *= static_cast<std::ptrdiff_t>(shape[axis - 1]);
  }
  return rows;
}

/// Elements that lie side by side in a row of the image; nothing if the tensor's rows are not the image's.
std::optional<std::size_t> row_in(const client::ImageLayout& layout, const Tensor& tensor) {
  const auto rows = rows_of(tensor);
  if (!rows || (rows->pitch != layout.pitch && element_count(tensor.shape()) != rows->elements)) return std::nullopt;
  // One row of all elements, where the image has no space beside them, is as many rows as the image has.
  return std::min(rows->elements, layout.row_bytes() / size_bytes(tensor.element_type()));
}
Refusal other_rows(const Tensor& tensor) {
  return Refusal{"the rows of " + to_string(tensor) + " are not those of its image; copy_to() a buffer"};
}

/// The pixels that are exactly `tensor`, as the target of a copy: bytes stay what they are, in every format.
std::variant<Location, Refusal> locate_image_target(const Tensor& tensor, const Tensor& seen) {
  const auto [image, layout] = client::image_and_layout(seen);
  const auto row = row_in(*layout, tensor);
  if (!row) return other_rows(tensor);
  const std::size_t begin = seen.offset() - layout->base, left = begin % layout->pitch,
                    row_bytes = *row * size_bytes(tensor.element_type());
  if (left % layout->pixel_bytes != 0 || row_bytes % layout->pixel_bytes != 0)
    return Refusal{to_string(tensor) + " begins or ends within a pixel of its image"};
  Location location;
  location.image = {image,
                    {left / layout->pixel_bytes, begin / layout->pitch, 0},
                    {row_bytes / layout->pixel_bytes, element_count(tensor.shape()) / *row, 1}};
  return location;
}

/// An image of the device's cl_context, or an image over a buffer of it.
std::variant<Location, Refusal> locate_image(const Tensor& tensor, const Tensor& seen) {
  const auto [image, layout] = client::image_and_layout(seen);
  const auto format = client::info<cl_image_format>(clGetImageInfo, "clGetImageInfo", image, CL_IMAGE_FORMAT);
  Location location{false, {}, {image, nullptr, seen.offset() - layout->base, layout->pitch}, {}};
  location.form.components = components_of(format.image_channel_order);
  location.form.is_integer =
      format.image_channel_data_type >= CL_SIGNED_INT8 && format.image_channel_data_type <= CL_UNSIGNED_INT32;
  const ElementType type = client::elements_of(format).first;
  const bool is_signed_share = !location.form.is_integer && (type == ElementType::kI8 || type == ElementType::kI16);
  if (type != tensor.element_type() || location.form.components.empty() || is_signed_share)
    return Refusal{"an image of channel order " + std::to_string(format.image_channel_order) + " and data type " +
                   std::to_string(format.image_channel_data_type) + " is not read as " +
                   std::string(name(tensor.element_type())) +
                   "; kernels read unsigned integers, scaled or not, signed ones that are not scaled, f16 and f32"};
  const auto row = row_in(*layout, tensor);
  if (!row) return other_rows(tensor);
  location.form.row = *row;
  return location;
}

/// The image that a tensor lies in; empty if it is none of the device's.
Tensor seen_image(const Gpu& gpu, const Tensor& tensor) {
  if (Tensor image = image_of(gpu, tensor)) return image;
  const auto* facet = tensor.context().as<opencl::FacetContext>();
  const bool is_own = facet && facet->native().context.get() == gpu.native().context.get();
  return is_own && tensor.kind() == opencl::kImageMemory ? tensor : Tensor();
}

}  // namespace

bool is_plain(const Gpu& gpu, const Tensor& tensor) {
  return is_of(gpu, tensor) && tensor.is_contiguous() && is_aligned(tensor);
}

std::optional<BoundMemory> plain_memory(const Gpu& gpu, const Tensor& tensor, bool takes_pitch) {
  if (!is_plain(gpu, tensor)) return std::nullopt;
  return BoundMemory{opencl::buffer(tensor), nullptr, tensor.offset(), takes_pitch ? pitch_of(tensor) : 0};
}

std::variant<Location, Refusal> locate(const Gpu& gpu, const Tensor& tensor, Access access, bool takes_pitch) try {
  if (const auto memory = plain_memory(gpu, tensor, takes_pitch)) return Location{false, {}, *memory, {}};
  if (const Tensor seen = seen_image(gpu, tensor))
    return writes(access) ? locate_image_target(tensor, seen) : locate_image(tensor, seen);
  const std::size_t pitch = takes_pitch ? pitch_of(tensor) : 0;
  BoundMemory memory{nullptr, nullptr, 0, pitch};
  InputForm form;
  if (!tensor.is_contiguous() && pitch == 0) {
    const auto rows = rows_of(tensor);
    if (!rows || writes(access))
      return Refusal{std::string(writes(access) ? "outputs are packed" : "kernels take rows at one pitch") + ", and " +
                     to_string(tensor) + " is strided; copy_to() a packed one of this context"};
    form.row = rows->elements;
    memory.pitch = rows->pitch;
  }
  if (!is_aligned(tensor)) return Refusal{to_string(tensor) + " begins within an element of its memory"};
  if (is_of(gpu, tensor)) {  // Strided, or at a pitch.
    memory.buffer = opencl::buffer(tensor);
    memory.offset = tensor.offset();
    return Location{false, {}, memory, form};
  }
  if (std::byte* const pointer = pointer_of(gpu, tensor)) {
    memory.pointer = pointer;
    return Location{false, {}, memory, form};
  }
  if (!tensor.is_host_addressable()) {
    const auto* remote = dynamic_cast<const RemoteMemory*>(tensor.memory().get());
    if (remote && tensor.context().as<opencl::FacetContext>())
      return Refusal{
          to_string(tensor) + " lies in a cl_context of " + remote->device_name() +
          "'s, and the model runs in another one, of " + gpu.device_name() +
          "; copy_to() a tensor of the model's context (get_context()), or compile the model for the tensor's"};
    return Refusal{to_string(tensor) + " lies neither in the device's cl_context nor in host memory"};
  }
  if (gpu.native().coherency != opencl::Coherency::kStanding || tensor.size_bytes() == 0) {
    // Moved: the request moves rows of pictures as they lie, and nothing else that is strided.
    if (form.is_plain()) return Location{true, {}, {}, {}};
    return Refusal{to_string(tensor) + " is strided, and is packed before it is moved to the device"};
  }
  MapOptions options;
  options.access = access;
  options.policy = ZeroCopy::kRequire;
  Tensor mapped = gpu.router().map(tensor, gpu.context(), options);
  memory.buffer = opencl::buffer(mapped);
  memory.offset = mapped.offset();
  return Location{false, std::move(mapped), memory, form};
} catch (const Error& error) {
  return Refusal{error.what()};
}

std::variant<std::vector<Location>, Refusal> locate_batch(const Gpu& gpu, std::span<const Tensor> items) try {
  std::vector<Location> locations;
  for (const Tensor& given : items) {
    // A dma-buf, as one tensor, is mapped for each inference; as an item, as long as it is bound.
    Tensor item = given;
    if (given.kind() == kDmabuf)
      item = gpu.router().map(given, gpu.context(), MapOptions{Access::kRead, ZeroCopy::kRequire});
    auto found = locate(gpu, item, Access::kRead);
    if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
    auto& location = std::get<Location>(found);
    if (location.is_moved) return Refusal{"the device has memory of its own, to which a batch is moved at once"};
    if (!locations.empty() && location.form != locations.front().form)
      return Refusal{
          "[GPU] Incorrect input blobs. All blobs must be of the same type: images of one format, or buffers "
          "with rows of one length"};
    if (!location.mapped) location.mapped = item;
    locations.push_back(std::move(location));
  }
  return locations;
} catch (const Error& error) {
  return Refusal{error.what()};
}

}  // namespace tenon::inline v1::gpu_device
