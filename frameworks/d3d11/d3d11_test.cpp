// SPDX-License-Identifier: Apache-2.0
// Direct3D 11: what is wrapped and by whom it is released, textures, errors by their names, keyed mutexes, points.
#include <tenon/frameworks/d3d11/contexts.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/router.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/in_threads.hpp>

namespace d3d11_test {

using namespace tenon;
using namespace std::chrono_literals;
using d3d11::Com;
using ::testing::AllOf;
using ::testing::HasSubstr;

class D3D11 : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      device = d3d11::make_device();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    buffers = d3d11::wrap(device.get());
    textures = d3d11::textures(buffers);
  }
  ULONG references() const {
    device->AddRef();
    return device->Release();
  }
  static ULONG references_of(IUnknown* object) {
    object->AddRef();
    return object->Release();
  }
  Com<ID3D11Buffer> new_buffer(UINT size, D3D11_USAGE usage = D3D11_USAGE_DEFAULT, const void* bytes = nullptr) const {
    D3D11_BUFFER_DESC wanted{};
    wanted.ByteWidth = size;
    wanted.Usage = usage;
    wanted.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    const D3D11_SUBRESOURCE_DATA first{bytes, 0, 0};
    Com<ID3D11Buffer> made;
    EXPECT_EQ(device->CreateBuffer(&wanted, bytes ? &first : nullptr, made.out()), S_OK);
    return made;
  }
  Com<ID3D11Texture2D> new_texture(DXGI_FORMAT format, UINT width, UINT height, UINT slices = 1, UINT mips = 1) const {
    D3D11_TEXTURE2D_DESC wanted{};
    wanted.Width = width;
    wanted.Height = height;
    wanted.MipLevels = mips;
    wanted.ArraySize = slices;
    wanted.Format = format;
    wanted.SampleDesc.Count = 1;
    wanted.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    Com<ID3D11Texture2D> made;
    EXPECT_EQ(device->CreateTexture2D(&wanted, nullptr, made.out()), S_OK);
    return made;
  }
  bool has(DXGI_FORMAT format) const {
    UINT support = 0;
    return SUCCEEDED(device->CheckFormatSupport(format, &support)) && (support & D3D11_FORMAT_SUPPORT_TEXTURE2D);
  }

  Com<ID3D11Device> device;
  Context buffers, textures;
};

std::vector<std::uint8_t> counted(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  return bytes;
}
std::span<const std::byte> bytes_of(const std::vector<std::uint8_t>& bytes) { return std::as_bytes(std::span(bytes)); }
std::vector<std::uint8_t> read(const Tensor& tensor) {
  std::vector<std::uint8_t> bytes(tensor.size_bytes());
  tensor.context()->read(tensor, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

TEST_F(D3D11, AWrappedBufferIsTheCallersAndAnAdoptedOneIsReleasedOnce) {
  const ULONG before = references();
  Com<ID3D11Buffer> made = new_buffer(4096);
  ID3D11Buffer* const raw = made.get();
  EXPECT_EQ(references_of(raw), 1u);
  {
    const Tensor wrapped = d3d11::wrap_buffer(buffers, raw, {element::f32, {32, 32}, {}});
    EXPECT_EQ(references_of(raw), 2u);
    EXPECT_EQ(d3d11::buffer(wrapped), raw);
    EXPECT_EQ(wrapped.kind(), d3d11::kBufferMemory);
    EXPECT_FALSE(wrapped.is_host_addressable());
    const Tensor again = d3d11::wrap_buffer(buffers, raw, {element::u8, {16}, {}}, 4080);
    EXPECT_EQ(&again.memory()->hazards(), &wrapped.memory()->hazards()) << "one buffer is one memory";
    // Failures release what they took.
    error_of([&] { d3d11::wrap_buffer(buffers, raw, {element::f32, {32, 33}, {}}); }, Code::kOutOfRange);
    EXPECT_EQ(references_of(raw), 3u);
  }
  EXPECT_EQ(references_of(raw), 1u);
  made->AddRef();
  {
    const Tensor adopted = d3d11::adopt_buffer(buffers, raw, {element::u8, {4096}, {}});
    EXPECT_EQ(references_of(raw), 2u);
  }
  EXPECT_EQ(references_of(raw), 1u);
  made->AddRef();
  error_of([&] { d3d11::adopt_buffer(buffers, raw, {element::u8, {4097}, {}}); }, Code::kOutOfRange);
  EXPECT_EQ(references_of(raw), 1u) << "also when it fails";
  made.reset();
  EXPECT_EQ(references(), before);
}

TEST_F(D3D11, BytesGoThereAndBackAtAnyOffsetAndStride) {
  Requirements wanted;
  wanted.size_bytes = 1000;
  const Ref<Memory> memory = buffers->allocate(wanted);
  EXPECT_GE(memory->size_bytes(), 1000u);
  const Tensor all({element::u8, {1000}, {}}, memory);
  buffers->write(all, bytes_of(std::vector<std::uint8_t>(1000, 9)));
  const Tensor part({element::u8, {3, 5}, {100, 2}}, memory, 7);
  const auto bytes = counted(15);
  buffers->write(part, bytes_of(bytes));
  EXPECT_EQ(read(part), bytes);
  std::vector<std::uint8_t> expected(1000, 9);
  for (std::size_t y = 0; y < 3; ++y)
    for (std::size_t x = 0; x < 5; ++x) expected[7 + y * 100 + x * 2] = bytes[y * 5 + x];
  EXPECT_EQ(read(all), expected) << "what lies between is left alone";
}

TEST_F(D3D11, RoutesBookWhatTheyCopy) {
  Ledger ledger;
  Router router;
  router.add(host_context());
  router.add(buffers);
  const auto bytes = counted(4000);
  const Tensor source(element::u8, {4000}, const_cast<std::uint8_t*>(bytes.data()));
  MapOptions options;
  options.ledger = &ledger;
  const Tensor there = router.map(source, buffers, options);
  EXPECT_EQ(there.context(), buffers);
  EXPECT_EQ(read(there), bytes);
  const Tensor back = router.map(there, host_context(), options);
  EXPECT_EQ(std::memcmp(back.data(), bytes.data(), bytes.size()), 0);
  EXPECT_THAT(router.explain(describe(source), buffers, Access::kRead), HasSubstr("cpu->d3d11.buffer"));
  EXPECT_EQ(ledger.total().copied, 8000u) << "there and back";
  options.policy = ZeroCopy::kRequire;
  error_of([&] { router.map(source, buffers, options); }, Code::kFailedPrecondition);
}

TEST_F(D3D11, ForeignAndNullPointersAreRefusedByName) {
  const Com<ID3D11Device> other = d3d11::make_device();
  const Context others = d3d11::wrap(other.get());
  const Com<ID3D11Buffer> made = new_buffer(64);
  const TensorInfo info{element::u8, {64}, {}};
  EXPECT_THAT(error_of([&] { d3d11::wrap_buffer(others, made.get(), info); }, Code::kInvalidArgument),
              HasSubstr("another device made it"));
  EXPECT_THAT(error_of([&] { d3d11::wrap_buffer(buffers, nullptr, info); }, Code::kInvalidArgument),
              HasSubstr("the pointer is null"));
  EXPECT_THAT(error_of([&] { d3d11::wrap_buffer(host_context(), made.get(), info); }, Code::kInvalidArgument),
              HasSubstr("'cpu'"));
  EXPECT_THAT(error_of([&] { d3d11::wrap_buffer(textures, made.get(), info); }, Code::kInvalidArgument),
              HasSubstr("d3d11.buffer"));
  EXPECT_THAT(error_of([&] { d3d11::wrap_buffer(Context(), made.get(), info); }, Code::kInvalidArgument),
              HasSubstr("null"));
  EXPECT_THAT(error_of([] { d3d11::wrap(nullptr); }, Code::kInvalidArgument), HasSubstr("ID3D11Device is null"));
  EXPECT_THAT(error_of([] { d3d11::wrap_texture(Context(), nullptr); }, Code::kInvalidArgument), HasSubstr("null"));
  EXPECT_THAT(error_of([] { d3d11::buffer(Tensor(element::u8, {4})); }, Code::kInvalidArgument),
              HasSubstr("no d3d11.buffer"));
  EXPECT_THAT(error_of([] { d3d11::texture(Tensor(element::u8, {4})); }, Code::kInvalidArgument),
              HasSubstr("no d3d11.texture"));
  EXPECT_EQ(references_of(made.get()), 1u);
}

TEST_F(D3D11, ImmutableBuffersAreReadOnly) {
  const auto bytes = counted(64);
  const Com<ID3D11Buffer> made = new_buffer(64, D3D11_USAGE_IMMUTABLE, bytes.data());
  const Tensor tensor = d3d11::wrap_buffer(buffers, made.get(), {element::u8, {64}, {}});
  EXPECT_FALSE(tensor.is_writable());
  EXPECT_EQ(read(tensor), bytes);
  EXPECT_THAT(error_of([&] { buffers->write(tensor, bytes_of(bytes)); }, Code::kFailedPrecondition),
              HasSubstr("immutable"));
}

TEST_F(D3D11, WhatItsBuffersCannotBeIsRefusedWithTheReason) {
  Requirements wanted;
  wanted.size_bytes = 100;
  wanted.fd = FdKind::kNtHandle;
  EXPECT_THAT(error_of([&] { buffers->allocate(wanted); }, Code::kUnimplemented), HasSubstr("NT handle"));
  wanted.fd = FdKind::kNone;
  wanted.host_access = true;
  EXPECT_THAT(error_of([&] { buffers->allocate(wanted); }, Code::kUnimplemented), HasSubstr("host address"));
  wanted.host_access = false;
  wanted.alignment = 4096;
  EXPECT_THAT(error_of([&] { buffers->allocate(wanted); }, Code::kUnimplemented), HasSubstr("4096"));
  wanted.alignment = 1;
  wanted.size_bytes = std::size_t{5} << 30;
  EXPECT_THAT(error_of([&] { buffers->allocate(wanted); }, Code::kResourceExhausted), HasSubstr("5368709120 bytes"));
  wanted.size_bytes = 100;
  EXPECT_THAT(error_of([&] { textures->allocate(wanted); }, Code::kUnimplemented), HasSubstr("allocate_frame"));
}

TEST_F(D3D11, TexturesKeepTheirPixels) {
  std::string seen;  // In the test's report: a page says which formats were seen on what.
  for (const d3d11::TextureFormat& format : d3d11::texture_formats()) {
    const FrameInfo info{format.pixels, 66, 34};
    SCOPED_TRACE(to_string(format.pixels));
    if (!has(format.dxgi)) {
      EXPECT_THAT(error_of([&] { d3d11::allocate_frame(textures, info); }, Code::kUnimplemented),
                  AllOf(HasSubstr("66x34"), HasSubstr("has no such textures")));
      continue;
    }
    seen += to_string(format.pixels) + ' ';
    const Frame frame = d3d11::allocate_frame(textures, info);
    ASSERT_EQ(frame.plane_count(), format_info(format.pixels).plane_count);
    std::vector<std::vector<std::uint8_t>> written;
    for (const Tensor& plane : frame.planes()) {
      written.push_back(counted(plane.size_bytes() + written.size()));
      written.back().resize(plane.size_bytes());
      textures->write(plane, bytes_of(written.back()));
    }
    for (std::size_t p = 0; p < frame.plane_count(); ++p) EXPECT_EQ(read(frame.plane(p)), written[p]);
    // A region of a plane.
    const Tensor& plane = frame.plane(0);
    Shape begin(plane.shape().size(), 0), end = plane.shape();
    begin[0] = 3, end[0] = 5, begin[1] = 10, end[1] = 20;
    const Tensor region = plane.slice(begin, end);
    textures->write(region, bytes_of(std::vector<std::uint8_t>(region.size_bytes(), 77)));
    EXPECT_EQ(read(region), std::vector<std::uint8_t>(region.size_bytes(), 77));
    const auto whole = read(plane);
    const std::size_t pitch = whole.size() / 34, pixel = pitch / 66;
    EXPECT_EQ(whole[3 * pitch + 10 * pixel], 77);
    EXPECT_EQ(whole[3 * pitch + 10 * pixel - 1], written[0][3 * pitch + 10 * pixel - 1]);
    EXPECT_EQ(whole[3 * pitch + 20 * pixel], written[0][3 * pitch + 20 * pixel]);
  }
  RecordProperty("formats", seen);
  EXPECT_THAT(seen, HasSubstr("bgra")) << "every device of feature level 10 has it";
}

TEST_F(D3D11, TheDevicesOwnCopyOfATextureAgrees) {
  // The oracle: what the device's own calls put into a slice of an array is what Tenon reads, and the other way round.
  const UINT width = 40, height = 20;
  const Com<ID3D11Texture2D> array = new_texture(DXGI_FORMAT_B8G8R8A8_UNORM, width, height, 3);
  Com<ID3D11DeviceContext> immediate;
  device->GetImmediateContext(immediate.out());
  const auto bytes = counted(width * height * 4);
  immediate->UpdateSubresource(array.get(), 2, nullptr, bytes.data(), width * 4, 0);
  const Frame second = d3d11::wrap_texture(textures, array.get(), 1),
              third = d3d11::wrap_texture(textures, array.get(), 2);
  EXPECT_EQ(third.info().format, kBgra);
  EXPECT_EQ(d3d11::texture(third.plane(0)).texture, array.get());
  EXPECT_EQ(d3d11::texture(third.plane(0)).slice, 2u);
  EXPECT_EQ(read(third.plane(0)), bytes);
  EXPECT_FALSE(second.plane(0).memory()->identity() == third.plane(0).memory()->identity());
  textures->write(second.plane(0), bytes_of(std::vector<std::uint8_t>(bytes.size(), 5)));
  EXPECT_EQ(read(third.plane(0)), bytes) << "slices are apart";
  D3D11_TEXTURE2D_DESC staging{};
  array->GetDesc(&staging);
  staging.ArraySize = 1;
  staging.Usage = D3D11_USAGE_STAGING;
  staging.BindFlags = 0;
  staging.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
  Com<ID3D11Texture2D> copy;
  ASSERT_EQ(device->CreateTexture2D(&staging, nullptr, copy.out()), S_OK);
  immediate->CopySubresourceRegion(copy.get(), 0, 0, 0, 0, array.get(), 1, nullptr);
  D3D11_MAPPED_SUBRESOURCE mapped{};
  ASSERT_EQ(immediate->Map(copy.get(), 0, D3D11_MAP_READ, 0, &mapped), S_OK);
  for (UINT y = 0; y < height; ++y)
    for (UINT x = 0; x < width * 4; ++x)
      ASSERT_EQ(static_cast<const std::uint8_t*>(mapped.pData)[y * mapped.RowPitch + x], 5) << x << ", " << y;
  immediate->Unmap(copy.get(), 0);
}

TEST_F(D3D11, TexturesThatAreNoPicturesAreRefused) {
  const Com<ID3D11Texture2D> floats = new_texture(DXGI_FORMAT_R32_FLOAT, 8, 8);
  EXPECT_THAT(error_of([&] { d3d11::wrap_texture(textures, floats.get()); }, Code::kUnimplemented),
              AllOf(HasSubstr("8x8"), HasSubstr("bgra")));
  const Com<ID3D11Texture2D> grey = new_texture(DXGI_FORMAT_R8_UNORM, 8, 8, 2);
  EXPECT_THAT(error_of([&] { d3d11::wrap_texture(textures, grey.get(), 2); }, Code::kInvalidArgument),
              HasSubstr("slice 2 is none of it"));
  EXPECT_THAT(error_of([&] { d3d11::wrap_texture(buffers, grey.get()); }, Code::kInvalidArgument),
              HasSubstr("d3d11.texture"));
  EXPECT_EQ(references_of(grey.get()), 1u);
  for (const FrameInfo& info : {FrameInfo{kBgra, 0, 8}, FrameInfo{kBgra, 8, 20000}, FrameInfo{kNv12, 7, 8}})
    error_of([&] { d3d11::allocate_frame(textures, info); }, Code::kInvalidArgument);
  EXPECT_THAT(error_of(
                  [&] {
                    d3d11::allocate_frame(textures, {kI420, 8, 8});
                  },
                  Code::kUnimplemented),
              HasSubstr("i420"));
  EXPECT_THAT(error_of(
                  [&] {
                    d3d11::allocate_frame(buffers, {kBgra, 8, 8});
                  },
                  Code::kInvalidArgument),
              HasSubstr("d3d11::textures()"));
  const Frame frame = d3d11::wrap_texture(textures, grey.get());
  const Tensor odd({element::u8, {4}, {3}}, frame.plane(0).memory());
  std::array<std::byte, 4> out{};
  EXPECT_THAT(error_of([&] { textures->read(odd, out); }, Code::kUnimplemented), HasSubstr("rows of 8 bytes"));
}

TEST_F(D3D11, PicturesTakeTheRouteOfTheirFormat) {
  Router router;
  router.add(host_context());
  router.add(textures);
  const FrameInfo info{kBgra, 33, 17};
  const Frame source = Frame::allocate(info);
  for (std::size_t y = 0; y < 17; ++y)
    for (std::size_t x = 0; x < 33 * 4; ++x)
      static_cast<std::uint8_t*>(
          source.plane(0).data())[y * static_cast<std::size_t>(source.plane(0).byte_strides()[0]) + x] =
          static_cast<std::uint8_t>(y * 31 + x);
  const Frame there = router.map(source, textures, Access::kRead);
  const auto bytes = read(there.plane(0));
  EXPECT_EQ(bytes[5 * 33 * 4 + 70], static_cast<std::uint8_t>(5 * 31 + 70));
  const Frame back = router.map(there, host_context(), Access::kRead);
  EXPECT_EQ(std::memcmp(back.plane(0).data(), bytes.data(), bytes.size()), 0);
  EXPECT_THAT(error_of([&] {
                router.map(Frame::allocate({kI420, 8, 8}), textures, Access::kRead);
              }).what(),
              HasSubstr("no texture of format i420"));
}

TEST_F(D3D11, FailuresHaveTheNamesOfTheirResults) {
  EXPECT_EQ(d3d11::native::name_of(DXGI_ERROR_DEVICE_REMOVED), "DXGI_ERROR_DEVICE_REMOVED");
  EXPECT_EQ(d3d11::native::name_of(E_INVALIDARG), "E_INVALIDARG");
  EXPECT_EQ(d3d11::native::name_of(static_cast<HRESULT>(0x88760001)), "HRESULT 0x88760001");
  const Error error = error_of(
      [&] { d3d11::native::call("CreateBuffer", "a buffer of 7 bytes", device.get(), [] { return E_INVALIDARG; }); });
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_EQ(error.native_api(), "CreateBuffer");
  EXPECT_EQ(error.native_code(), E_INVALIDARG);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("a buffer of 7 bytes"), HasSubstr("E_INVALIDARG")));
  const ULONG before = references();
  std::size_t calls = 0, succeeded = 0;
  for (std::size_t n = 1;; ++n, ++calls) {
    buffers.as<d3d11::D3D11Context>()->device_ref()->drop_staging();
    d3d11::native::fail_call(n);
    try {
      Requirements wanted;
      wanted.size_bytes = 100;
      const Tensor tensor({element::u8, {100}, {}}, buffers->allocate(wanted));
      read(tensor);
      const Frame frame = d3d11::allocate_frame(textures, {kBgra, 8, 8});
      textures->write(frame.plane(0), bytes_of(counted(8 * 8 * 4)));
      EXPECT_EQ(read(frame.plane(0)), counted(8 * 8 * 4));
      ++succeeded;
    } catch (const Error& failed) {
      EXPECT_EQ(failed.code(), Code::kResourceExhausted);
      EXPECT_THAT(failed.what(), HasSubstr("E_OUTOFMEMORY"));
    }
    if (!d3d11::native::call_failed()) break;
  }
  d3d11::native::fail_call(0);
  EXPECT_EQ(succeeded, 1u);
  EXPECT_GE(calls, 6u) << "two staging resources, a buffer and a texture are made, and at least two are mapped";
  buffers.as<d3d11::D3D11Context>()->device_ref()->drop_staging();
  EXPECT_EQ(references(), before);
}

TEST_F(D3D11, PointsAreReachedWhenTheCommandsAre) {
  Requirements wanted;
  wanted.size_bytes = 1 << 20;
  const Tensor tensor({element::u8, {1 << 20}, {}}, buffers->allocate(wanted));
  buffers->write(tensor, bytes_of(counted(1 << 20)));
  d3d11::wrote(tensor);
  d3d11::reads(tensor);
  EXPECT_TRUE(tensor.memory()->has_hazards());
  tensor.memory()->wait_for(Access::kReadWrite, Clock::now() + 20s);
  const TimelinePoint point = d3d11::point(buffers);
  point.wait(Clock::now() + 20s);
  EXPECT_EQ(point.state(), PointState::kReached);
  error_of([] { d3d11::point(host_context()); }, Code::kInvalidArgument);
}

// COM's interfaces have no virtual destructor.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
/// A keyed mutex that says what it is told to: the runtime of a test may have none.
class FakeMutex final : public IDXGIKeyedMutex {
 public:
  HRESULT answer = S_OK;
  UINT64 acquired = 0, released = 0;
  DWORD waited_ms = 0;
  ULONG count = 1;
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID id, void** object) override {
    if (!IsEqualGUID(id, __uuidof(IDXGIKeyedMutex))) return *object = nullptr, E_NOINTERFACE;
    AddRef();
    *object = static_cast<IDXGIKeyedMutex*>(this);
    return S_OK;
  }
  ULONG STDMETHODCALLTYPE AddRef() override { return ++count; }
  ULONG STDMETHODCALLTYPE Release() override { return --count; }
  HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID, UINT, const void*) override { return E_NOTIMPL; }
  HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID, const IUnknown*) override { return E_NOTIMPL; }
  HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID, UINT*, void*) override { return E_NOTIMPL; }
  HRESULT STDMETHODCALLTYPE GetParent(REFIID, void**) override { return E_NOTIMPL; }
  HRESULT STDMETHODCALLTYPE GetDevice(REFIID, void**) override { return E_NOTIMPL; }
  HRESULT STDMETHODCALLTYPE AcquireSync(UINT64 key, DWORD wait_ms) override {
    acquired = key, waited_ms = wait_ms;
    return answer;
  }
  HRESULT STDMETHODCALLTYPE ReleaseSync(UINT64 key) override {
    released = key;
    return S_OK;
  }
};
#pragma GCC diagnostic pop

TEST(D3D11KeyedMutex, IsHeldForAScopeAndSaysWhyItIsNot) {
  FakeMutex mutex;
  {
    const d3d11::KeyedMutexGuard held(&mutex, 3, 4, Clock::now() + 1s);
    EXPECT_EQ(mutex.acquired, 3u);
    EXPECT_EQ(mutex.released, 0u);
    EXPECT_LE(mutex.waited_ms, 1000u);
    EXPECT_GT(mutex.waited_ms, 900u);
  }
  EXPECT_EQ(mutex.released, 4u);
  mutex.released = 0;
  mutex.answer = static_cast<HRESULT>(WAIT_TIMEOUT);
  EXPECT_THAT(error_of([&] { d3d11::KeyedMutexGuard(&mutex, 3, 4, Deadline::min()); }, Code::kDeadlineExceeded),
              HasSubstr("WAIT_TIMEOUT"));
  EXPECT_EQ(mutex.waited_ms, 0u);
  mutex.answer = static_cast<HRESULT>(WAIT_ABANDONED);
  EXPECT_THAT(error_of([&] { d3d11::KeyedMutexGuard(&mutex, 3, 4, Deadline::max()); }, Code::kDataLoss),
              HasSubstr("WAIT_ABANDONED"));
  mutex.answer = DXGI_ERROR_INVALID_CALL;
  EXPECT_THAT(error_of([&] { d3d11::KeyedMutexGuard(&mutex, 3, 4, Clock::now()); }, Code::kInvalidArgument),
              HasSubstr("DXGI_ERROR_INVALID_CALL"));
  EXPECT_EQ(mutex.released, 0u) << "what was not acquired is not released";
  EXPECT_EQ(mutex.count, 1u) << "each reference was released";
  error_of([] { d3d11::KeyedMutexGuard(nullptr, 0, 0, Clock::now()); }, Code::kInvalidArgument);
}

TEST_F(D3D11, AResourceWithoutAKeyedMutexSaysSo) {
  const Com<ID3D11Texture2D> plain = new_texture(DXGI_FORMAT_R8_UNORM, 8, 8);
  const Error error = error_of([&] { d3d11::KeyedMutexGuard(plain.get(), 0, 0, Clock::now()); });
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("E_NOINTERFACE"), HasSubstr("SHARED_KEYEDMUTEX")));
}

TEST_F(D3D11, ThreadsMayCopyAtOnce) {
  tenon::testing::in_threads(4, [&](int i) {
    Requirements wanted;
    wanted.size_bytes = 5000;
    const std::vector<std::uint8_t> bytes(5000, static_cast<std::uint8_t>(i + 1));
    for (int round = 0; round < 10; ++round) {
      const Tensor tensor({element::u8, {5000}, {}}, buffers->allocate(wanted));
      buffers->write(tensor, bytes_of(bytes));
      if (read(tensor) != bytes) throw std::runtime_error("another thread's bytes");
    }
  });
}

TEST(D3D11Contexts, AreOfOneDeviceOrAbsentWithAReason) {
  const std::vector<Context> all = d3d11::contexts();
  if (all.empty()) {
    EXPECT_THAT(d3d11::why_none(), HasSubstr("D3D11CreateDevice"));
    return;
  }
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(d3d11::device(all[0]), d3d11::device(all[1]));
  EXPECT_EQ(all[1]->kind(), d3d11::kTextureMemory);
  EXPECT_TRUE(all[0]->device().empty() || same_device(all[0], all[1]));
}

}  // namespace d3d11_test
