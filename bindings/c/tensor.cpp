// SPDX-License-Identifier: Apache-2.0
// Tensors, host and remote.
#include <functional>
#include <memory>

#include <tenon/core/host.hpp>

#include <tenon/bindings/c/internal/guard.hpp>
#include <tenon/bindings/c/internal/release.hpp>

namespace tenon::c {

ElementType type_of(tenon_element_type_t type) {
  if (type == TENON_TYPE_STRING) refuse("strings are C++ objects: tensors of them are created and read in C++");
  if (type <= TENON_TYPE_UNDEFINED || type > TENON_TYPE_NF4)
    refuse("element type " + std::to_string(type) + " does not exist");
  return static_cast<ElementType>(type);
}

namespace {

bool is_remote(const Tensor& tensor) { return tensor && dynamic_cast<RemoteMemory*>(tensor.memory().get()) != nullptr; }

const Tensor& value_of(const tenon_tensor_t* tensor) { return checked(tensor, "tensor").value; }

}  // namespace
}  // namespace tenon::c

using namespace tenon::c;
using tenon::Code;
using tenon::Error;
using tenon::RemoteTensor;
using tenon::Tensor;

tenon_status_t tenon_tensor_create(tenon_element_type_t type, size_t rank, const size_t* shape, tenon_tensor_t** out) {
  return make(out, [&] {
    const tenon::Shape extents = shape_of(rank, shape);  // Pointers first: evaluation order is unspecified.
    return Tensor(type_of(type), extents);
  });
}

tenon_status_t tenon_tensor_wrap(tenon_element_type_t type, size_t rank, const size_t* shape,
                                 const ptrdiff_t* byte_strides, void* data, tenon_release_t release, void* user,
                                 tenon_tensor_t** out) {
  // First, so that the callback runs once on every path.
  std::shared_ptr<void> owner;
  if (out) *out = nullptr;
  if (const auto status = run([&] { owner = owner_of(release, user); }); status != TENON_OK) return status;
  return make(out, [&] {
    tenon::TensorInfo info;
    info.shape = shape_of(rank, shape);
    info.type = type_of(type);
    info.strides = byte_strides ? tenon::ByteStrides(byte_strides, byte_strides + rank)
                                : tenon::packed_strides(info.type, info.shape);
    const auto extent = tenon::checked_extent_bytes(info);
    if (!extent)
      refuse("the size of a tensor of shape " + to_string(info.shape) + " and byte strides " + to_string(info.strides) +
             " does not fit");
    if (*extent != 0) required(data, "data");
    if (byte_strides && tenon::size_bytes(info.type) == 0) refuse("tensors of types below 8 bits have no byte strides");
    return Tensor(std::move(info), tenon::HostMemory::borrow(data, *extent, false, release_of(owner)));
  });
}

tenon_status_t tenon_tensor_slice(const tenon_tensor_t* tensor, const size_t* begin, const size_t* end,
                                  tenon_tensor_t** out) {
  return make(out, [&] {
    const Tensor& whole = value_of(tensor);
    const std::size_t rank = whole.shape().size();
    return whole.slice(shape_of(rank, begin, "begin"), shape_of(rank, end, "end"));
  });
}
tenon_status_t tenon_tensor_reshaped(const tenon_tensor_t* tensor, size_t rank, const size_t* shape,
                                     tenon_tensor_t** out) {
  return make(out, [&] { return value_of(tensor).reshaped(shape_of(rank, shape)); });
}
tenon_status_t tenon_tensor_data(const tenon_tensor_t* tensor, void** out) {
  return give(out, [&] {
    const Tensor& value = value_of(tensor);
    if (value.element_type() == tenon::ElementType::kString)
      throw Error(Code::kFailedPrecondition, to_string(value) + " holds C++ objects, which are read in C++");
    return value.data();
  });
}
tenon_element_type_t tenon_tensor_type(const tenon_tensor_t* tensor) {
  return ask(tensor, tenon_element_type_t{TENON_TYPE_UNDEFINED},
             [](const tenon_tensor& held) { return held.value.element_type(); });
}
size_t tenon_tensor_rank(const tenon_tensor_t* tensor) {
  return ask(tensor, size_t{0}, [](const tenon_tensor& held) { return held.value.shape().size(); });
}
tenon_status_t tenon_tensor_shape(const tenon_tensor_t* tensor, size_t* out) {
  return run([&] {
    const tenon::Shape& shape = value_of(tensor).shape();
    required_array(out, shape.size(), "out");
    std::copy(shape.begin(), shape.end(), out);
  });
}
tenon_status_t tenon_tensor_byte_strides(const tenon_tensor_t* tensor, ptrdiff_t* out) {
  return run([&] {
    const Tensor& value = value_of(tensor);
    required_array(out, value.shape().size(), "out");
    if (tenon::size_bytes(value.element_type()) == 0)
      throw Error(Code::kUnimplemented, "tensors of types below 8 bits have no byte strides");
    std::copy(value.byte_strides().begin(), value.byte_strides().end(), out);
  });
}
size_t tenon_tensor_element_count(const tenon_tensor_t* tensor) {
  return ask(tensor, size_t{0}, [](const tenon_tensor& held) { return held.value.element_count(); });
}
size_t tenon_tensor_size_bytes(const tenon_tensor_t* tensor) {
  return ask(tensor, size_t{0}, [](const tenon_tensor& held) { return held.value.size_bytes(); });
}
bool tenon_tensor_is_contiguous(const tenon_tensor_t* tensor) {
  return ask(tensor, false, [](const tenon_tensor& held) { return held.value.is_contiguous(); });
}
bool tenon_tensor_is_host_addressable(const tenon_tensor_t* tensor) {
  return ask(tensor, false, [](const tenon_tensor& held) { return held.value.is_host_addressable(); });
}
tenon_status_t tenon_tensor_set_shape(tenon_tensor_t* tensor, size_t rank, const size_t* shape) {
  return run([&] { checked(tensor, "tensor").value.set_shape(shape_of(rank, shape)); });
}
tenon_status_t tenon_tensor_copy_to(const tenon_tensor_t* tensor, tenon_tensor_t* destination) {
  return run([&] {
    const Tensor& from = value_of(tensor);
    Tensor& to = checked(destination, "destination").value;
    if (is_remote(from))
      RemoteTensor(from).copy_to(to);
    else if (is_remote(to))
      RemoteTensor(to).copy_from(from);
    else
      from.copy_to(to);
  });
}
tenon_status_t tenon_tensor_to_text(const tenon_tensor_t* tensor, char** out) {
  return give_text(out, [&] { return tenon::to_string(value_of(tensor)); });
}
bool tenon_tensor_is_remote(const tenon_tensor_t* tensor) {
  return ask(tensor, false, [](const tenon_tensor& held) { return is_remote(held.value); });
}
tenon_status_t tenon_remote_tensor_get_device_name(const tenon_tensor_t* tensor, char** out) {
  return give_text(out, [&] { return RemoteTensor(value_of(tensor)).get_device_name(); });
}
tenon_status_t tenon_remote_tensor_get_params(const tenon_tensor_t* tensor, size_t* out_count, char** out_params) {
  return run([&] {
    *required(out_count, "out_count") = 0;
    *required(out_params, "out_params") = nullptr;
    const tenon::AnyMap params = RemoteTensor(value_of(tensor)).get_params();
    *out_params = copy_of(params_text(params));
    *out_count = params.size();
  });
}
tenon_status_t tenon_remote_tensor_get_properties(const tenon_tensor_t* tensor, tenon_properties_t** out) {
  return make(out, [&] { return RemoteTensor(value_of(tensor)).get_params(); });
}
void tenon_tensor_free(tenon_tensor_t* tensor) { free_handle(tensor); }
