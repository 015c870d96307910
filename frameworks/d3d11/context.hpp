// SPDX-License-Identifier: Apache-2.0
// Contexts of Direct3D 11: a device with its immediate context, once for buffers and once for textures.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/device_identity.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/d3d11/native.hpp>

namespace tenon {
inline namespace v1 {
namespace d3d11 {

/// ID3D11Buffer, and ID3D11Texture2D: the pixels of a texture have no address, so its planes are read and written by copies.
inline constexpr MemoryKind kBufferMemory{"d3d11.buffer"};
inline constexpr MemoryKind kTextureMemory{"d3d11.texture"};

/// Bytes of buffers are multiples of this, as raw views want it. The largest is what UINT counts; what a device lacks, CreateBuffer refuses.
inline constexpr std::size_t kBufferUnit = 16, kMaxBufferBytes = 0xfffffff0;

/// What the contexts of one device share. Calls of the immediate context are made under mutex(), because that object takes one thread at a
/// time; programs that use it beside Tenon set ID3D10Multithread's protection, which wrap() does.
/// @thread all members from any thread
class Device final : public RefCounted {
 public:
  /// @errors kInvalidArgument: null; kUnavailable: the device was removed
  static Ref<Device> over(Com<ID3D11Device> device);

  ID3D11Device* get() const { return device_.get(); }
  ID3D11DeviceContext* immediate() const { return immediate_.get(); }
  std::mutex& mutex() const { return mutex_; }
  const std::string& name() const { return name_; }
  const DeviceIdentity& identity() const { return identity_; }

  /// Staging memory for one copy, mapped. Kept for the next copy of its size, so that the steady state makes none.
  /// Made, used and destroyed under mutex().
  class Staging {
   public:
    Staging(const Device& device, ID3D11Resource* resource) : device_(device), resource_(resource) {}
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;
    ~Staging() { unmap(); }
    ID3D11Resource* resource() const { return resource_; }
    /// Waits for the copies into it. @errors kDeadlineExceeded; those of Map
    const D3D11_MAPPED_SUBRESOURCE& map(D3D11_MAP how, Deadline deadline);
    void unmap() noexcept;

   private:
    const Device& device_;
    ID3D11Resource* resource_;
    D3D11_MAPPED_SUBRESOURCE mapped_{};
  };
  /// A staging buffer of at least `size` bytes, or a texture like `like`. @errors those of CreateBuffer and CreateTexture2D
  ID3D11Resource* staging_buffer(std::size_t size) const;
  ID3D11Resource* staging_texture(const D3D11_TEXTURE2D_DESC& like) const;
  /// Lets go of the staging memory that is kept for the next copy.
  void drop_staging() const;

 private:
  explicit Device(Com<ID3D11Device> device) : device_(std::move(device)) {}

  Com<ID3D11Device> device_;
  Com<ID3D11DeviceContext> immediate_;
  std::string name_;
  DeviceIdentity identity_;
  mutable std::mutex mutex_;
  mutable Com<ID3D11Buffer> staging_buffer_;
  mutable std::size_t staging_bytes_ = 0;
  mutable Com<ID3D11Texture2D> staging_texture_;
};

/// A device as a context, for one kind of memory.
class D3D11Context final : public ContextImpl {
 public:
  D3D11Context(Ref<Device> device, MemoryKind kind)
      : device_(std::move(device)),
        kind_(kind),
        name_((kind == kBufferMemory ? "d3d11:" : "d3d11.texture:") + device_->name()) {}
  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kind_; }
  std::span<const Edge* const> edges() const override;
  DeviceIdentity device() const override { return device_->identity(); }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// A buffer of D3D11_USAGE_DEFAULT for shaders and unordered access, raw views allowed. Textures are made by
  /// allocate_frame(), which knows their format.
  Ref<Memory> allocate(const Requirements& wanted) override;
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

  const Ref<Device>& device_ref() const { return device_; }

 private:
  Ref<Device> device_;
  MemoryKind kind_;
  std::string name_;
};

/// A new device of the system's first adapter. @errors kUnavailable: the HRESULT of D3D11CreateDevice
Com<ID3D11Device> make_device();
/// The user's device as a context of buffers. Takes its own reference. @errors kInvalidArgument: null; kUnavailable: it was removed
Context wrap(ID3D11Device* device);
/// The context of textures on the device of `context`, and of buffers on that of a context of textures. Each call gives a new one of the same
/// device. @errors kInvalidArgument: a context of another framework
Context textures(const Context& context);
Context buffers(const Context& context);
/// @errors kInvalidArgument: a context of another framework
ID3D11Device* device(const Context& context);

}  // namespace d3d11
}  // namespace v1
}  // namespace tenon
