// SPDX-License-Identifier: Apache-2.0
// Places tensors, and moves them where the device has memory of its own.
#include <tenon/devices/gpu/binding.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

EdgeId upload_edge() {
  static const EdgeId edge = register_edge("GPU: upload");
  return edge;
}
EdgeId download_edge() {
  static const EdgeId edge = register_edge("GPU: download");
  return edge;
}
EdgeId image_edge() {
  static const EdgeId edge = register_edge("GPU: to image");
  return edge;
}

/// Of a picture's planes [n, rows, columns, samples], or without the first axis; 1 of any other tensor.
std::size_t picture_rows(const Shape& shape) {
  const std::size_t rank = shape.size();
  return rank < 3 ? 1 : shape[rank - 3] * (rank > 3 ? shape[rank - 4] : 1);
}

constexpr const cl_event* kNoEvents = nullptr;
constexpr cl_event* kNoEvent = nullptr;

}  // namespace

void Binding::place(const Gpu& gpu, const Tensor& given, Access access, bool takes_pitch) {
  tensor = given;
  items.clear();
  if (mapped) mapped = Tensor();
  is_moved = false;
  image.reset();
  if (form != InputForm{}) form = {};
  if (!tensor) return;
  if (const auto plain = plain_memory(gpu, tensor, takes_pitch)) {
    memory = *plain;
    return;
  }
  auto found = locate(gpu, tensor, access, takes_pitch);
  if (auto* refusal = std::get_if<Refusal>(&found)) throw Error(Code::kFailedPrecondition, "GPU: " + refusal->reason);
  auto& location = std::get<Location>(found);
  is_moved = location.is_moved;
  image = location.image;
  if (!location.is_moved && !location.image) {
    if (location.mapped) mapped = std::move(location.mapped);
    memory = location.memory;
    form = std::move(location.form);
    return;
  }
  const std::size_t bytes = std::max<std::size_t>(tensor.size_bytes(), 1);
  if (staging_bytes < bytes) {
    staging = client::make_buffer(gpu.native(), CL_MEM_READ_WRITE, bytes, nullptr,
                                  "a buffer for a tensor in host memory or in an image");
    gpu.count_memory(staging.get(), bytes);
    staging_bytes = bytes;
  }
  // Moved rows lie side by side.
  memory = {staging.get(), nullptr, 0, tensor.size_bytes() / std::max<std::size_t>(picture_rows(tensor.shape()), 1)};
}

void Binding::place_batch(const Gpu& gpu, std::span<const Tensor> given) {
  auto found = locate_batch(gpu, given);
  if (auto* refusal = std::get_if<Refusal>(&found)) throw Error(Code::kFailedPrecondition, "GPU: " + refusal->reason);
  tensor = mapped = Tensor();
  is_moved = false;
  items = std::move(std::get<std::vector<Location>>(found));
  form = items.front().form;
  form.items = items.size();
  batch_shape = given.front().shape();
  batch_shape[0] = given.size();
}

void Binding::move_in(cl_command_queue queue, Ledger& ledger) const {
  if (!is_moved || !tensor || tensor.size_bytes() == 0) return;
  const char* const what = "moving an input to the device";
  const auto* const from = static_cast<const void*>(tensor.data());
  if (tensor.is_contiguous()) {
    client::check(client::call(clEnqueueWriteBuffer, queue, memory.buffer, cl_bool{CL_FALSE}, std::size_t{0},
                               tensor.size_bytes(), from, cl_uint{0}, kNoEvents, kNoEvent),
                  "clEnqueueWriteBuffer", what);
  } else {  // Rows at a pitch.
    const std::size_t rank = tensor.shape().size(), row = memory.pitch;
    const auto pitch = static_cast<std::size_t>(tensor.byte_strides()[rank - 3]);
    const std::size_t origin[3] = {0, 0, 0}, region[3] = {row, picture_rows(tensor.shape()), 1};
    client::check(client::call(clEnqueueWriteBufferRect, queue, memory.buffer, cl_bool{CL_FALSE},
                               static_cast<const std::size_t*>(origin), static_cast<const std::size_t*>(origin),
                               static_cast<const std::size_t*>(region), row, std::size_t{0}, pitch, std::size_t{0},
                               from, cl_uint{0}, kNoEvents, kNoEvent),
                  "clEnqueueWriteBufferRect", what);
  }
  ledger.book_transferred(upload_edge(), tensor.size_bytes());
}

void Binding::move_out(cl_command_queue queue, Inference& inference) const {
  if (!tensor || tensor.size_bytes() == 0) return;
  if (image) return put_into_image(queue, inference);
  if (!is_moved) return;
  Tensor target = tensor;
  client::check(client::call(clEnqueueReadBuffer, queue, memory.buffer, cl_bool{CL_FALSE}, std::size_t{0},
                             target.size_bytes(), static_cast<void*>(target.data()), cl_uint{0}, kNoEvents, kNoEvent),
                "clEnqueueReadBuffer", "moving an output from the device");
  inference.ledger().book_transferred(download_edge(), target.size_bytes());
}

/// Kernels write buffers: the device copies the bytes into the image.
void Binding::put_into_image(cl_command_queue queue, Inference& inference) const {
  if (inference.policy() == ZeroCopy::kRequire)
    throw Error(Code::kFailedPrecondition, "GPU: " + to_string(tensor) + " is an image, into which " +
                                               std::to_string(tensor.size_bytes()) +
                                               " bytes would be copied, which the zero-copy policy 'require' "
                                               "forbids; give the output a buffer");
  client::check(client::call(clEnqueueCopyBufferToImage, queue, memory.buffer, image->image, std::size_t{0},
                             image->origin.data(), image->size.data(), cl_uint{0}, kNoEvents, kNoEvent),
                "clEnqueueCopyBufferToImage", "putting an output into an image");
  inference.ledger().book_copied(image_edge(), tensor.size_bytes());
}

}  // namespace tenon::inline v1::gpu_device
