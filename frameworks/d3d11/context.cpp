// SPDX-License-Identifier: Apache-2.0
// Devices, and their staging memory.
#include <tenon/frameworks/d3d11/context.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/polling.hpp>

namespace tenon {
inline namespace v1 {
namespace d3d11 {
namespace detail {

TENON_INLINE std::string narrow(const wchar_t* text) {
  char narrow[512];
  return ::WideCharToMultiByte(CP_UTF8, 0, text, -1, narrow, sizeof narrow, nullptr, nullptr) > 0 ? narrow : "";
}

TENON_INLINE const D3D11Context& ours(const Context& context, const char* call) {
  const auto* known = context ? context.as<D3D11Context>() : nullptr;
  if (!known)
    throw Error(Code::kInvalidArgument, std::string("d3d11::") + call + ": " +
                                            (context ? std::string(context->name()) + " is no context of d3d11"
                                                     : std::string("the context is null")));
  return *known;
}

}  // namespace detail

TENON_INLINE Ref<Device> Device::over(Com<ID3D11Device> device) {
  if (!device) throw Error(Code::kInvalidArgument, "d3d11: the ID3D11Device is null");
  const HRESULT removed = device->GetDeviceRemovedReason();
  if (removed != S_OK) native::fail("GetDeviceRemovedReason", "wrapping a device", device.get(), removed);
  Ref<Device> made(new Device(std::move(device)));
  made->device_->GetImmediateContext(made->immediate_.out());
  if (const auto threads = made->immediate_.as<ID3D10Multithread>()) threads->SetMultithreadProtected(TRUE);
  made->name_ = "device";
  const auto dxgi = made->device_.as<IDXGIDevice>();
  Com<IDXGIAdapter> adapter;
  DXGI_ADAPTER_DESC description{};
  if (dxgi && SUCCEEDED(dxgi->GetAdapter(adapter.out())) && SUCCEEDED(adapter->GetDesc(&description))) {
    made->name_ = detail::narrow(description.Description);
    std::uint64_t luid = 0;
    static_assert(sizeof luid == sizeof description.AdapterLuid);
    std::memcpy(&luid, &description.AdapterLuid, sizeof luid);
    if (luid != 0) made->identity_.set(kDeviceLuid, luid);
  }
  return made;
}

TENON_INLINE ID3D11Resource* Device::staging_buffer(std::size_t size) const {
  if (size > staging_bytes_ || !staging_buffer_) {
    if (size > kMaxBufferBytes)
      throw Error(Code::kResourceExhausted, "d3d11: " + std::to_string(size) +
                                                " bytes are copied at once; the most are " +
                                                std::to_string(kMaxBufferBytes));
    D3D11_BUFFER_DESC wanted{};
    wanted.ByteWidth = static_cast<UINT>((size + kBufferUnit - 1) / kBufferUnit * kBufferUnit);
    wanted.Usage = D3D11_USAGE_STAGING;
    wanted.CPUAccessFlags = D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE;
    staging_bytes_ = 0;
    native::call("CreateBuffer", "a staging buffer of " + std::to_string(wanted.ByteWidth) + " bytes", get(),
                 [&] { return device_->CreateBuffer(&wanted, nullptr, staging_buffer_.out()); });
    staging_bytes_ = wanted.ByteWidth;
  }
  return staging_buffer_.get();
}

TENON_INLINE ID3D11Resource* Device::staging_texture(const D3D11_TEXTURE2D_DESC& like) const {
  D3D11_TEXTURE2D_DESC kept{};
  if (staging_texture_) staging_texture_->GetDesc(&kept);
  if (!staging_texture_ || kept.Width != like.Width || kept.Height != like.Height || kept.Format != like.Format) {
    D3D11_TEXTURE2D_DESC wanted{};
    wanted.Width = like.Width;
    wanted.Height = like.Height;
    wanted.MipLevels = wanted.ArraySize = wanted.SampleDesc.Count = 1;
    wanted.Format = like.Format;
    wanted.Usage = D3D11_USAGE_STAGING;
    wanted.CPUAccessFlags = D3D11_CPU_ACCESS_READ | D3D11_CPU_ACCESS_WRITE;
    native::call("CreateTexture2D",
                 "a staging texture of " + std::to_string(wanted.Width) + "x" + std::to_string(wanted.Height), get(),
                 [&] { return device_->CreateTexture2D(&wanted, nullptr, staging_texture_.out()); });
  }
  return staging_texture_.get();
}

TENON_INLINE void Device::drop_staging() const {
  const std::lock_guard lock(mutex_);
  staging_buffer_.reset();
  staging_texture_.reset();
  staging_bytes_ = 0;
}

TENON_INLINE const D3D11_MAPPED_SUBRESOURCE& Device::Staging::map(D3D11_MAP how, Deadline deadline) {
  HRESULT result = DXGI_ERROR_WAS_STILL_DRAWING;
  device_.immediate()->Flush();
  const bool in_time = poll_until(deadline, [&] {
    result = native::faulted() ? E_OUTOFMEMORY
                               : device_.immediate()->Map(resource_, 0, how, D3D11_MAP_FLAG_DO_NOT_WAIT, &mapped_);
    return result != DXGI_ERROR_WAS_STILL_DRAWING;
  });
  if (!in_time)
    throw Error(Code::kDeadlineExceeded, "d3d11: the device did not finish a copy to the host in time", "Map", result);
  if (FAILED(result)) {
    mapped_ = {};
    native::fail("Map", "reading staging memory", device_.get(), result);
  }
  return mapped_;
}

TENON_INLINE void Device::Staging::unmap() noexcept {
  if (mapped_.pData) device_.immediate()->Unmap(resource_, 0);
  mapped_ = {};
}

TENON_INLINE std::variant<Offer, Refusal> D3D11Context::offer(const Requirements& wanted) const {
  if (kind_ == kTextureMemory)
    return Refusal{
        "a texture has a pixel format: d3d11::allocate_frame() makes it, or allocate in the context of buffers"};
  if (wanted.fd != FdKind::kNone)
    return Refusal{"its buffers have no descriptor of kind " + std::string(wanted.fd.name()) +
                   "; take host memory behind an NT section"};
  if (wanted.host_access) return Refusal{"its buffers have no host address; allocate host memory, which is copied"};
  if (wanted.alignment > 256)
    return Refusal{"its buffers are aligned to 256 bytes, and " + std::to_string(wanted.alignment) + " were asked for"};
  return Offer{256, FdKind::kNone, 0, false};
}

TENON_INLINE Com<ID3D11Device> make_device() {
  Com<ID3D11Device> device;
  HRESULT result = E_FAIL;
  // WARP, the software device, where the machine has no other.
  for (const D3D_DRIVER_TYPE type : {D3D_DRIVER_TYPE_HARDWARE, D3D_DRIVER_TYPE_WARP}) {
    result = ::D3D11CreateDevice(nullptr, type, nullptr, D3D11_CREATE_DEVICE_BGRA_SUPPORT, nullptr, 0,
                                 D3D11_SDK_VERSION, device.out(), nullptr, nullptr);
    if (SUCCEEDED(result)) return device;
  }
  throw Error(Code::kUnavailable, "d3d11: no device on this machine: " + native::name_of(result), "D3D11CreateDevice",
              result);
}

TENON_INLINE Context wrap(ID3D11Device* device) {
  return Context(make_ref<D3D11Context>(Device::over(Com<ID3D11Device>::share(device)), kBufferMemory));
}
TENON_INLINE Context textures(const Context& context) {
  return Context(make_ref<D3D11Context>(detail::ours(context, "textures").device_ref(), kTextureMemory));
}
TENON_INLINE Context buffers(const Context& context) {
  return Context(make_ref<D3D11Context>(detail::ours(context, "buffers").device_ref(), kBufferMemory));
}
TENON_INLINE ID3D11Device* device(const Context& context) {
  return detail::ours(context, "device").device_ref()->get();
}

}  // namespace d3d11
}  // namespace v1
}  // namespace tenon
