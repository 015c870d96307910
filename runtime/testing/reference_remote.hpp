// SPDX-License-Identifier: Apache-2.0
// A remote context for tests: memory that the host must not reach, with the reference device's engine on it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::testing {

inline constexpr MemoryKind kFarMemory{"test.far"};

/// Bytes that only FarMemory::bytes() gives access to.
class FarContext final : public ContextImpl {
 public:
  std::string_view name() const override { return "far"; }
  MemoryKind kind() const override { return kFarMemory; }
};

class FarMemory final : public Memory, public RemoteMemory {
 public:
  FarMemory(const Context& context, std::shared_ptr<RemoteContextImpl> owner, std::size_t size)
      : Memory(context, kFarMemory, sized(size)), owner_(std::move(owner)), bytes_(std::max<std::size_t>(size, 1)) {
    ++live;
  }
  ~FarMemory() override { --live; }
  std::byte* bytes() const { return bytes_.data(); }
  std::string device_name() const override { return "REFERENCE"; }
  AnyMap remote_params() const override {
    return {{"MEM_TYPE", "FAR"}, {"MEM_HANDLE", static_cast<const void*>(bytes_.data())}};
  }
  void copy_from(const Tensor& self, const Tensor& source) override {
    copy_strided(self.element_type(), self.shape(), start_of(source), source.byte_strides(), start_of(self),
                 self.byte_strides());
  }
  void copy_to(const Tensor& self, Tensor& destination) const override {
    copy_strided(self.element_type(), self.shape(), start_of(self), self.byte_strides(), start_of(destination),
                 destination.byte_strides());
  }
  /// The address of a tensor's first element, in far memory or on the host.
  static std::byte* start_of(const Tensor& tensor) {
    if (const auto* far = dynamic_cast<const FarMemory*>(tensor.memory().get())) return far->bytes() + tensor.offset();
    return static_cast<std::byte*>(tensor.data());
  }
  static inline std::atomic<int> live{0};

 private:
  static Properties sized(std::size_t size) {
    Properties properties;
    properties.size_bytes = size;
    return properties;
  }
  std::shared_ptr<RemoteContextImpl> owner_;  ///< A remote tensor keeps its context.
  mutable std::vector<std::byte> bytes_;
};

class ReferenceContext final : public RemoteContextImpl {
 public:
  explicit ReferenceContext(AnyMap params) : params_(std::move(params)) { ++live; }
  ~ReferenceContext() override { --live; }
  std::string device_name() const override { return "REFERENCE"; }
  AnyMap params() const override {
    AnyMap all = params_;
    all["CONTEXT_TYPE"] = Any(std::string("FAR"));
    return all;
  }
  Tensor create_tensor(element::Type type, const Shape& shape, const AnyMap& params) override {
    if (!params.empty()) throw AssertFailure("REFERENCE: remote tensors take no parameters");
    const TensorInfo info{type, shape, {}};
    return Tensor(info, make_ref<FarMemory>(context_, shared_from_this(), checked_size_bytes(type, shape).value()));
  }
  static inline std::atomic<int> live{0};

 private:
  AnyMap params_;
  Context context_{make_ref<FarContext>()};
};

/// A host tensor over the bytes of far memory, for the interpreter.
inline Tensor near(const Tensor& tensor) {
  if (!tensor || tensor.is_host_addressable()) return tensor;
  return Tensor(tensor.element_type(), tensor.shape(), FarMemory::start_of(tensor), tensor.byte_strides());
}

}  // namespace tenon::testing
