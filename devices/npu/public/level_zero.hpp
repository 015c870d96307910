// SPDX-License-Identifier: Apache-2.0
// Typed wrappers of the NPU's context and remote tensors, with OpenVINO's names.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/npu/public/properties.hpp>  // IWYU pragma: export
#include <tenon/devices/npu/public/remote_properties.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/remote_context.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace intel_npu {
namespace level_zero {

/// A remote tensor of the NPU. @thread as Tensor.
class ZeroBufferTensor : public RemoteTensor {
 public:
  /// @errors kInvalidArgument: no tensor with MEM_HANDLE and MEM_TYPE.
  static void type_check(const Tensor& tensor) {
    RemoteTensor::type_check(
        tensor, {{mem_handle.name(), {}},
                 {mem_type.name(),
                  {Any(MemType::L0_INTERNAL_BUF).as<std::string>(), Any(MemType::SHARED_BUF).as<std::string>(),
                   Any(MemType::MMAPED_FILE).as<std::string>(), Any(MemType::CPU_VA).as<std::string>()}}});
  }
  /// The memory's address for Level Zero; valid as long as the tensor.
  void* get() { return get_params().at(mem_handle.name()).as<void*>(); }
};

/// The NPU's context. Every tensor made from it keeps it alive. Pointers and descriptors given to it stay the
/// caller's: a pointer must live as long as the tensor, a descriptor may be closed at once.
/// @errors of the functions that make tensors, as RemoteContext::create_tensor: kInvalidArgument, kOutOfRange (too
///         little memory), kUnimplemented (not supported by the driver), kResourceExhausted.
/// @thread any.
class ZeroContext : public RemoteContext {
 protected:
  static constexpr const char* device_name = "NPU";
  ZeroContext() = default;

 public:
  using RemoteContext::create_tensor;

  /// The default context of the NPU. @errors kUnavailable: there is none.
  ZeroContext(Core& core) { *this = core.get_default_context(device_name).as<ZeroContext>(); }

  /// A context in the application's own ze_context. Models compiled on it create their graphs, queues, lists and memory
  /// there. Memory that the application allocates there (zeMemAllocHost, Device, Shared) is used in place: by any
  /// set_tensor, and by create_tensor with CPU_VA, at any address and of any size.
  /// @param ze_context  A live ze_context_handle_t of the NPU's driver, got through Level Zero's loader. Borrowed and
  ///        never destroyed: it must outlive this context, its compiled models and tensors, and the Core.
  /// @param device  "NPU", or one of several: "NPU.4000.1".
  /// @errors kInvalidArgument: null, or another driver's ze_context; kUnavailable: there is no NPU.
  ZeroContext(Core& core, void* ze_context, const std::string& device = device_name) {
    *this = core.create_context(device, {{l0_context.name(), ze_context}}).as<ZeroContext>();
  }

  /// The ze_context_handle_t, still owned by the device, or by the application that gave it.
  void* get() { return get_params().at(l0_context.name()).as<void*>(); }

  /// From an NT handle (Windows) or, with CPU_VA, from the caller's own pages or its memory of this ze_context. Shares,
  /// never copies.
  ZeroBufferTensor create_tensor(const element::Type type, const Shape& shape, void* buffer,
                                 const MemType memory_type = MemType::SHARED_BUF,
                                 const TensorType tensor_type = TensorType::BINDED) {
    if (memory_type != MemType::SHARED_BUF && memory_type != MemType::CPU_VA)
      throw AssertFailure("Only SHARED_BUF and CPU_VA memory types are supported for raw buffer pointer or NT handle");
    return make(
        type, shape,
        {{mem_type.name(), memory_type}, {mem_handle.name(), buffer}, {intel_npu::tensor_type.name(), tensor_type}});
  }
  /// From a dma-buf. Shares, never copies.
  ZeroBufferTensor create_tensor(const element::Type type, const Shape& shape, int fd,
                                 const MemType memory_type = MemType::SHARED_BUF,
                                 const TensorType tensor_type = TensorType::BINDED) {
    if (memory_type != MemType::SHARED_BUF)
      throw AssertFailure("Only SHARED_BUF memory type is supported for DMA-BUF file descriptor");
    return make(type, shape,
                {{mem_type.name(), memory_type},
                 {mem_handle.name(), reinterpret_cast<void*>(static_cast<std::intptr_t>(fd))},
                 {intel_npu::tensor_type.name(), tensor_type}});
  }
  /// From a file; inputs only.
  ZeroBufferTensor create_tensor(const element::Type type, const Shape& shape, const FileDescriptor& file_descriptor,
                                 const TensorType tensor_type = TensorType::INPUT) {
    return make(type, shape,
                {{mem_type.name(), MemType::MMAPED_FILE},
                 {intel_npu::file_descriptor.name(), file_descriptor},
                 {intel_npu::tensor_type.name(), tensor_type}});
  }
  /// Allocates device memory that the host can access too.
  ZeroBufferTensor create_l0_host_tensor(const element::Type type, const Shape& shape,
                                         const TensorType tensor_type = TensorType::BINDED) {
    return make(type, shape,
                {{mem_type.name(), MemType::L0_INTERNAL_BUF}, {intel_npu::tensor_type.name(), tensor_type}});
  }

 private:
  ZeroBufferTensor make(const element::Type type, const Shape& shape, const AnyMap& params) {
    return create_tensor(type, shape, params).as<ZeroBufferTensor>();
  }
};

}  // namespace level_zero
}  // namespace intel_npu
}  // namespace v1
}  // namespace tenon
