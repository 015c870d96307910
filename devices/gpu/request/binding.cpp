// SPDX-License-Identifier: Apache-2.0
// Places tensors, and moves them where the device has memory of its own.
#include <tenon/devices/gpu/request/binding.hpp>

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
EdgeId aside_edge() {
  static const EdgeId edge = register_edge("GPU: output that shares memory");
  return edge;
}
EdgeId image_edge() {
  static const EdgeId edge = register_edge("GPU: to image");
  return edge;
}

/// The rows of a picture's planes, whose shape is [n, rows, columns, samples] or lacks the first axis; any other tensor counts as 1 row.
std::size_t picture_rows(const Shape& shape) {
  const std::size_t rank = shape.size();
  return rank < 3 ? 1 : shape[rank - 3] * (rank > 3 ? shape[rank - 4] : 1);
}

/// Bytes of an object: of the process's memory if that is null.
struct Extent {
  const void* object = nullptr;
  std::size_t begin = 0, end = 0;
  bool overlaps(const Extent& other) const { return object == other.object && begin < other.end && other.begin < end; }
};

/// A part of a buffer is known by the whole.
Extent extent_of(const Tensor& tensor, const BoundMemory& memory) {
  const std::size_t bytes = tensor.element_count() ? checked_extent_bytes(tensor.info()).value_or(0) : 0;
  const auto from = [&](const void* object, std::size_t begin) { return Extent{object, begin, begin + bytes}; };
  if (tensor.is_host_addressable()) return from(nullptr, reinterpret_cast<std::uintptr_t>(tensor.data()));
  if (!memory.buffer) return from(nullptr, reinterpret_cast<std::uintptr_t>(memory.pointer + memory.offset));
  const auto ask = [&](auto answer, cl_mem_info key) {
    return client::info<decltype(answer)>(clGetMemObjectInfo, "clGetMemObjectInfo", memory.buffer, key);
  };
  const cl_mem whole = ask(cl_mem{}, CL_MEM_ASSOCIATED_MEMOBJECT);
  return whole ? from(whole, memory.offset + ask(std::size_t{}, CL_MEM_OFFSET)) : from(memory.buffer, memory.offset);
}

Extent extent_of(const Binding& port) { return extent_of(port.tensor, port.aside.value_or(port.memory)); }
/// What is moved to the device, and what is copied from there, has memory of its own.
bool is_direct(const Binding& port) { return port.tensor && !port.is_moved && !port.image; }

}  // namespace

void Binding::place(const Gpu& gpu, const Tensor& given, Access access, bool takes_pitch) {
  tensor = given;
  items.clear();
  if (mapped) mapped = Tensor();
  is_moved = false;
  image.reset();
  aside.reset();
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
  make_staging(gpu, "a buffer for a tensor in host memory or in an image");
  // Moved rows lie side by side.
  memory = {staging->buffer.get(), nullptr, 0,
            tensor.size_bytes() / std::max<std::size_t>(picture_rows(tensor.shape()), 1)};
}

void Binding::make_staging(const Gpu& gpu, const char* what) {
  const std::size_t bytes = std::max<std::size_t>(tensor.size_bytes(), 1);
  if (staging && staging->size_bytes >= bytes) return;
  // What grows step by step, as a mask does, stays where it is for some steps.
  const std::size_t wanted = staging ? gpu.with_room(bytes) : bytes;
  staging.reset();
  staging = gpu.make_buffer(wanted, nullptr, what);
}

bool Binding::set_aside(const Gpu& gpu, bool is_aside) {
  if (is_aside == aside.has_value()) return false;
  if (is_aside) {
    make_staging(gpu, "a buffer for an output that shares memory with another port");
    aside = std::exchange(memory, BoundMemory{staging->buffer.get(), nullptr, 0, 0});
  } else {
    memory = *std::exchange(aside, std::nullopt);
  }
  return true;
}

bool Binding::overlaps(const Binding& other) const {
  if (!is_direct(*this)) return false;
  const Extent own = extent_of(*this);
  return (is_direct(other) && own.overlaps(extent_of(other))) ||
         std::any_of(other.items.begin(), other.items.end(),
                     [&](const Location& item) { return own.overlaps(extent_of(item.mapped, item.memory)); });
}

bool Binding::begins_at(const Binding& other) const {
  return other.items.empty() && extent_of(*this).begin == extent_of(other).begin;
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
  if (aside) return put_back(queue, inference);
  if (!is_moved) return;
  Tensor target = tensor;
  client::check(client::call(clEnqueueReadBuffer, queue, memory.buffer, cl_bool{CL_FALSE}, std::size_t{0},
                             target.size_bytes(), static_cast<void*>(target.data()), cl_uint{0}, kNoEvents, kNoEvent),
                "clEnqueueReadBuffer", "moving an output from the device");
  inference.ledger().book_transferred(download_edge(), target.size_bytes());
}

void Binding::move_in(TwinQueue& queue, Ledger& ledger) const {
  if (!is_moved || !tensor || tensor.size_bytes() == 0) return;
  queue.copy_in(staging->address, tensor.data(), tensor.size_bytes());
  ledger.book_transferred(upload_edge(), tensor.size_bytes());
}

void Binding::move_out(TwinQueue& queue, Inference& inference) const {
  if (!is_moved || !tensor || tensor.size_bytes() == 0) return;
  Tensor target = tensor;
  queue.copy_out(target.data(), staging->address, target.size_bytes());
  inference.ledger().book_transferred(download_edge(), target.size_bytes());
}

void Binding::put_back(cl_command_queue queue, Inference& inference) const {
  const std::size_t bytes = tensor.size_bytes();
  if (inference.policy() == ZeroCopy::kRequire)
    throw Error(Code::kFailedPrecondition,
                "GPU: " + to_string(tensor) +
                    " is an output that shares memory with another port of the same inference, "
                    "which kernels still need when they write it, so " +
                    std::to_string(bytes) +
                    " bytes would be copied, which the zero-copy policy 'require' forbids; give "
                    "it memory of its own");
  const char* const what = "putting out a result that shares memory";
  if (aside->buffer)
    client::check(client::call(clEnqueueCopyBuffer, queue, staging->buffer.get(), aside->buffer, std::size_t{0},
                               aside->offset, bytes, cl_uint{0}, kNoEvents, kNoEvent),
                  "clEnqueueCopyBuffer", what);
  else
    client::check(
        client::call(clEnqueueReadBuffer, queue, staging->buffer.get(), cl_bool{CL_FALSE}, std::size_t{0}, bytes,
                     static_cast<void*>(aside->pointer + aside->offset), cl_uint{0}, kNoEvents, kNoEvent),
        "clEnqueueReadBuffer", what);
  inference.ledger().book_copied(aside_edge(), bytes);
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
