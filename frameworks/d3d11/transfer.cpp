// SPDX-License-Identifier: Apache-2.0
// New buffers, and the copies of buffers and textures.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/frameworks/d3d11/context.hpp>
#include <tenon/frameworks/d3d11/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace d3d11 {
namespace detail {

/// Bytes [offset, offset + size) of a buffer.
TENON_INLINE D3D11_BOX bytes_of(std::size_t offset, std::size_t size) {
  return {static_cast<UINT>(offset), 0, 0, static_cast<UINT>(offset + size), 1, 1};
}

TENON_INLINE ByteStrides strides_of(const Tensor& tensor) {
  return tensor.byte_strides().empty() ? packed_strides(tensor.element_type(), tensor.shape()) : tensor.byte_strides();
}

TENON_INLINE void read_buffer(const Device& device, const Tensor& tensor, std::byte* out) {
  const std::size_t extent = checked_extent_bytes(tensor.info()).value();
  const std::lock_guard lock(device.mutex());
  Device::Staging staging(device, device.staging_buffer(extent));
  const D3D11_BOX box = bytes_of(tensor.offset(), extent);
  device.immediate()->CopySubresourceRegion(staging.resource(), 0, 0, 0, 0, buffer(tensor), 0, &box);
  const auto* bytes = static_cast<const std::byte*>(staging.map(D3D11_MAP_READ, default_deadline()).pData);
  if (tensor.is_contiguous()) {
    std::memcpy(out, bytes, tensor.size_bytes());
  } else {
    copy_strided(tensor.element_type(), tensor.shape(), bytes, strides_of(tensor), out,
                 packed_strides(tensor.element_type(), tensor.shape()));
  }
}

/// One call for each run of bytes that lie side by side, so that those between are left alone.
TENON_INLINE void write_buffer(const Device& device, const Tensor& tensor, const std::byte* in) {
  const Shape& shape = tensor.shape();
  std::size_t run = tensor.size_bytes(), outer = 0;
  if (!tensor.is_contiguous()) {
    run = size_bytes(tensor.element_type());
    outer = shape.size();
    while (outer > 0 && (shape[outer - 1] == 1 || tensor.byte_strides()[outer - 1] == static_cast<std::ptrdiff_t>(run)))
      run *= shape[--outer];
  }
  const std::lock_guard lock(device.mutex());
  Shape index(outer, 0);
  for (std::size_t done = 0; done < tensor.size_bytes(); done += run) {
    std::size_t offset = tensor.offset();
    for (std::size_t axis = 0; axis < outer; ++axis)
      offset += index[axis] * static_cast<std::size_t>(tensor.byte_strides()[axis]);
    const D3D11_BOX box = bytes_of(offset, run);
    device.immediate()->UpdateSubresource(buffer(tensor), 0, &box, in + done, 0, 0);
    for (std::size_t axis = outer; axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/// Where the rows of a tensor over a texture lie: those of one plane, whole pixels side by side.
struct PlaneRows {
  std::size_t first_row = 0, begin_bytes = 0, rows = 0, row_bytes = 0;
};
TENON_INLINE PlaneRows rows_of(const TextureMemory& memory, const Tensor& tensor) {
  // A batch of one is its picture.
  const std::size_t pitch = memory.pitch_bytes(), skipped = tensor.shape().size() == 4 && tensor.shape()[0] == 1;
  const std::size_t sample = size_bytes(tensor.element_type());
  const auto shape = std::span<const std::size_t>(tensor.shape()).subspan(skipped);
  const ByteStrides all = strides_of(tensor);
  const auto strides = std::span<const std::ptrdiff_t>(all).subspan(skipped);
  const bool is_picture =
      (shape.size() == 2 || shape.size() == 3) && (shape[0] <= 1 || strides[0] == std::ptrdiff_t(pitch));
  const std::size_t pixel = is_picture && shape.size() == 3 ? sample * shape[2] : sample;
  if (!is_picture || (shape[1] > 1 && strides[1] != std::ptrdiff_t(pixel)))
    throw Error(Code::kUnimplemented, "d3d11: " + to_string(tensor) + " is no region of a texture's plane: rows of " +
                                          std::to_string(pitch) + " bytes, whole pixels side by side");
  return {tensor.offset() / pitch, tensor.offset() % pitch, shape[0], shape[1] * pixel};
}

/// Copies rows between a mapped texture, whose planes lie one after another at one pitch, and packed bytes.
template <typename Copy>
void for_each_row(const PlaneRows& rows, const D3D11_MAPPED_SUBRESOURCE& mapped, Copy copy) {
  auto* const base = static_cast<std::byte*>(mapped.pData);
  for (std::size_t row = 0; row < rows.rows; ++row)
    copy(base + (rows.first_row + row) * mapped.RowPitch + rows.begin_bytes, row * rows.row_bytes);
}

TENON_INLINE const TextureMemory& texture_memory(const Tensor& tensor) {
  const auto* memory = tensor ? dynamic_cast<const TextureMemory*>(tensor.memory().get()) : nullptr;
  if (!memory)
    throw Error(Code::kInvalidArgument, "d3d11: " + to_string(tensor) + ": it is no plane of a texture of d3d11");
  return *memory;
}

TENON_INLINE void read_texture(const Device& device, const Tensor& tensor, std::byte* out) {
  const TextureMemory& memory = texture_memory(tensor);
  const PlaneRows rows = rows_of(memory, tensor);
  const std::lock_guard lock(device.mutex());
  Device::Staging staging(device, device.staging_texture(memory.description()));
  device.immediate()->CopySubresourceRegion(staging.resource(), 0, 0, 0, 0, memory.texture(), memory.subresource(),
                                            nullptr);
  for_each_row(rows, staging.map(D3D11_MAP_READ, default_deadline()),
               [&](const std::byte* row, std::size_t at) { std::memcpy(out + at, row, rows.row_bytes); });
}

TENON_INLINE void write_texture(const Device& device, const Tensor& tensor, const std::byte* in) {
  const TextureMemory& memory = texture_memory(tensor);
  const PlaneRows rows = rows_of(memory, tensor);
  const std::lock_guard lock(device.mutex());
  Device::Staging staging(device, device.staging_texture(memory.description()));
  device.immediate()->CopySubresourceRegion(staging.resource(), 0, 0, 0, 0, memory.texture(), memory.subresource(),
                                            nullptr);
  for_each_row(rows, staging.map(D3D11_MAP_READ_WRITE, default_deadline()),
               [&](std::byte* row, std::size_t at) { std::memcpy(row, in + at, rows.row_bytes); });
  staging.unmap();
  device.immediate()->CopySubresourceRegion(memory.texture(), memory.subresource(), 0, 0, 0, staging.resource(), 0,
                                            nullptr);
}

}  // namespace detail

TENON_INLINE Ref<Memory> D3D11Context::allocate(const Requirements& wanted) {
  check_offer(wanted);
  const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
  if (size > kMaxBufferBytes)
    throw Error(Code::kResourceExhausted, "d3d11: a buffer of " + std::to_string(size) + " bytes; the most are " +
                                              std::to_string(kMaxBufferBytes));
  D3D11_BUFFER_DESC made{};
  made.ByteWidth = static_cast<UINT>((size + kBufferUnit - 1) / kBufferUnit * kBufferUnit);
  made.Usage = D3D11_USAGE_DEFAULT;
  made.BindFlags = D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_UNORDERED_ACCESS;
  made.MiscFlags = D3D11_RESOURCE_MISC_BUFFER_ALLOW_RAW_VIEWS;
  Com<ID3D11Buffer> buffer;
  native::call("CreateBuffer", "a buffer of " + std::to_string(size) + " bytes", device_->get(),
               [&] { return device_->get()->CreateBuffer(&made, nullptr, buffer.out()); });
  return BufferMemory::over(Context(Ref<ContextImpl>(this)), std::move(buffer));
}

TENON_INLINE void D3D11Context::read(const Tensor& tensor, std::span<std::byte> out) const {
  if (tensor.size_bytes() == 0) return;
  kind_ == kBufferMemory ? detail::read_buffer(*device_, tensor, out.data())
                         : detail::read_texture(*device_, tensor, out.data());
}

TENON_INLINE void D3D11Context::write(const Tensor& tensor, std::span<const std::byte> in) const {
  if (tensor.size_bytes() == 0) return;
  if (tensor.memory()->read_only())
    throw Error(Code::kFailedPrecondition, "d3d11: " + to_string(tensor) + " is immutable");
  kind_ == kBufferMemory ? detail::write_buffer(*device_, tensor, in.data())
                         : detail::write_texture(*device_, tensor, in.data());
}

}  // namespace d3d11
}  // namespace v1
}  // namespace tenon
