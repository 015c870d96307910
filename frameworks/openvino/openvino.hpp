// SPDX-License-Identifier: Apache-2.0
// OpenVINO's and Tenon's tensors over the same memory, in both directions, without copies.
//
//   tenon::Tensor t = tenon::openvino::wrap(request.get_output_tensor());  // Keeps regions and strides.
//   request.set_input_tensor(tenon::openvino::tensor(t));                  // The same bytes, kept alive.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/host.hpp>  // IWYU pragma: export
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/openvino/memory.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace openvino {

/// cpu -> openvino: a view. Making it calls nothing: openvino::tensor() makes headers.
class CpuToOpenVino final : public Edge {
 public:
  std::string_view name() const override { return "cpu->openvino"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kOpenVinoMemory; }
  Step step(const Description& from, const Context& to, Access access) const override;
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override;
};

/// openvino -> cpu: host tensors are shared; remote ones are copied out by their device.
class OpenVinoToCpu final : public Edge {
 public:
  std::string_view name() const override { return "openvino->cpu"; }
  MemoryKind from() const override { return kOpenVinoMemory; }
  MemoryKind to() const override { return kCpuMemory; }
  Step step(const Description& from, const Context& to, Access access) const override;
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override;
};

/// openvino -> openvino: OpenVINO cannot pass memory between contexts, but host tensors work in all.
class OpenVinoToOpenVino final : public Edge {
 public:
  std::string_view name() const override { return "openvino->openvino"; }
  MemoryKind from() const override { return kOpenVinoMemory; }
  MemoryKind to() const override { return kOpenVinoMemory; }
  Step step(const Description& from, const Context& to, Access access) const override;
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override;
};

/// OpenVINO's host memory: one context per process, since its tensors have none. Remote contexts: remote.hpp.
class HostTensors : public ContextImpl {
 public:
  std::string_view name() const override { return "openvino"; }
  MemoryKind kind() const override { return kOpenVinoMemory; }
  std::span<const Edge* const> edges() const override;
  /// False for a device's own memory.
  virtual bool is_host() const { return true; }
  std::string_view remedy() const override;
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// An ov::Tensor of bytes, aligned to at least 64. @errors kUnimplemented: descriptors; kResourceExhausted.
  Ref<Memory> allocate(const Requirements& wanted) override;
  /// Uses ov::Tensor::copy_to.
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;
};

const Context& context();
/// The contexts of this framework on this machine: always its host tensors. Remote contexts belong to the user's ov::Core:
/// creating one here would load every plugin.
std::vector<Context> contexts();

/// For ov::Tensors whose memory others share in place: ov::Tensor(type, shape, openvino::allocator()).
/// @param alignment  bytes, a power of two. 64 suits CPU cache lines and most devices; memory that is imported by pages
///                   needs 4096.
/// @errors kInvalidArgument: not a power of two.
ov::Allocator allocator(std::size_t alignment = 64);
/// As above, with the alignment that `consumer` needs to use memory in place.
ov::Allocator allocator(const Context& consumer);

/// Wraps an ov::Tensor of host memory in place; regions and strides stay. The ov::Tensor is kept alive, but memory it
/// borrowed must be kept by its owner. Do not set its shape to more elements meanwhile: OpenVINO then reallocates it
/// for all that share it. A const pointer gives read-only memory.
/// @errors kInvalidArgument: an empty or a remote tensor; kUnimplemented: element type, regions of sub-byte types.
/// @thread any. @cost one allocation; no bytes are touched.
Tensor wrap(const ov::Tensor& native);

namespace detail {

/// `native` as memory of a class derived from TensorMemory. @errors as wrap().
template <typename MemoryClass>
Tensor wrap_in(const Context& context, const ov::Tensor& native, bool want_remote) {
  Found found = inspect(native, want_remote);
  return Tensor(std::move(found.info), Ref<Memory>(make_ref<MemoryClass>(context, found.properties, native)));
}

}  // namespace detail
}  // namespace openvino
}  // namespace v1
}  // namespace tenon
