// SPDX-License-Identifier: Apache-2.0
// Surfaces of VA-API through the layer, over a runtime and a libva that this test is.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/drivers/gpu/testing/runtime.hpp>
#include <tenon/drivers/gpu/va_abi.hpp>

namespace tenon::gpu_layer::testing {
namespace {

/// libva, which this program is, too: a display with surface 7, of 6x4 px in NV12 with rows of 8 bytes.
struct Va {
  int fd = -1, status = 0, syncs = 0;
  std::uint64_t modifier = 0;
  std::uint32_t format = va_abi::fourcc('R', '8', ' ', ' '), bytes = 4096, offset = 0;
};
Va va;

/// Calls of cl_intel_va_api_media_sharing, as an application looks them up.
class GpuSurfaces : public GpuLayer {
 protected:
  template <typename Call>
  Call look_up(const char* name) {
    return reinterpret_cast<Call>(layer().clGetExtensionFunctionAddressForPlatform(kPlatform, name));
  }
  using DevicesOf = cl_int(CL_API_CALL*)(cl_platform_id, cl_uint, void*, cl_uint, cl_uint, cl_device_id*, cl_uint*);
  using FromSurface = cl_mem(CL_API_CALL*)(cl_context, cl_mem_flags, unsigned*, cl_uint, cl_int*);
  using Pass = cl_int(CL_API_CALL*)(cl_command_queue, cl_uint, const cl_mem*, cl_uint, const cl_event*, cl_event*);

  void SetUp() override {
    GpuLayer::SetUp();
    if (IsSkipped()) return;
    va = Va{};
    va.fd = ::memfd_create("surface", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(va.fd, 4096), 0);
    ASSERT_EQ(::fcntl(va.fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  }
  void TearDown() override {
    if (runtime.destroyed) runtime.destroyed(kMemory, runtime.destroyed_data);
    if (va.fd >= 0) ::close(va.fd);
  }
  void share(cl_context_properties by_the_user = CL_FALSE) {
    const cl_context_properties properties[] = {0x4097, reinterpret_cast<cl_context_properties>(&va),
                                                CL_CONTEXT_INTEROP_USER_SYNC, by_the_user, 0};
    ASSERT_EQ(layer().clCreateContext(properties, 1, &kCpu, nullptr, nullptr, &status), kContext);
  }
  cl_mem plane(cl_uint number, unsigned surface = 7, cl_mem_flags flags = CL_MEM_READ_ONLY) {
    return look_up<FromSurface>("clCreateFromVA_APIMediaSurfaceINTEL")(kContext, flags, &surface, number, &status);
  }
  cl_int pass(const char* name, cl_mem image) { return look_up<Pass>(name)(kQueue, 1, &image, 0, nullptr, nullptr); }
  static constexpr const char* kAcquire = "clEnqueueAcquireVA_APIMediaSurfacesINTEL";
  static constexpr const char* kRelease = "clEnqueueReleaseVA_APIMediaSurfacesINTEL";
  cl_int status = -1;
};

TEST_F(GpuSurfaces, AreSharedWithTheDisplaysDevice) {
  const auto devices_of = look_up<DevicesOf>("clGetDeviceIDsFromVA_APIMediaAdapterINTEL");
  ASSERT_NE(devices_of, nullptr);
  cl_device_id device = nullptr;
  cl_uint count = 0;
  EXPECT_EQ(devices_of(kPlatform, 0x4094, &va, 0x4095, 1, &device, &count), CL_SUCCESS);
  EXPECT_EQ(device, kCpu);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(devices_of(kPlatform, 0x4094, &device, 0x4095, 1, &device, &count), -1098) << "no display";
  EXPECT_EQ(devices_of(kPlatform, 0x4094, nullptr, 0x4096, 1, &device, &count), -1098);
  EXPECT_EQ(devices_of(kPlatform, 0x4095, &va, 0x4095, 1, &device, &count), CL_INVALID_VALUE);
  EXPECT_EQ(devices_of(kPlatform, 0x4094, &va, 0x4094, 1, &device, &count), CL_INVALID_VALUE);
  EXPECT_EQ(devices_of(kPlatform, 0x4094, &va, 0x4095, 0, &device, &count), CL_INVALID_VALUE);
}

TEST_F(GpuSurfaces, ContextsKeepTheDisplayThatTheRuntimeDoesNotKnow) {
  share();
  EXPECT_EQ(runtime.properties, (std::vector<cl_context_properties>{CL_CONTEXT_INTEROP_USER_SYNC, CL_FALSE}));
  cl_context_properties given[5] = {};
  ASSERT_EQ(layer().clGetContextInfo(kContext, CL_CONTEXT_PROPERTIES, sizeof given, given, nullptr), CL_SUCCESS);
  EXPECT_EQ(given[0], 0x4097);
  EXPECT_EQ(given[1], reinterpret_cast<cl_context_properties>(&va));
  EXPECT_EQ(given[4], 0);
  const cl_context_properties wrong[] = {0x4097, reinterpret_cast<cl_context_properties>(&status), 0};
  EXPECT_EQ(layer().clCreateContext(wrong, 1, &kCpu, nullptr, nullptr, &status), nullptr);
  EXPECT_EQ(status, -1098);
  ASSERT_EQ(layer().clCreateContext(nullptr, 1, &kCpu, nullptr, nullptr, &status), kContext);
  EXPECT_EQ(plane(0), nullptr) << "the handle is another context's now";
  EXPECT_EQ(status, CL_INVALID_CONTEXT);
}

TEST_F(GpuSurfaces, ContextsOfATypeShareTheDisplayToo) {
  const auto create = [&](std::vector<cl_context_properties> properties) {
    return layer().clCreateContextFromType(properties.data(), CL_DEVICE_TYPE_GPU, nullptr, nullptr, &status);
  };
  const auto platform = reinterpret_cast<cl_context_properties>(kPlatform);
  ASSERT_EQ(create({CL_CONTEXT_PLATFORM, platform, 0x4097, reinterpret_cast<cl_context_properties>(&va), 0}), kContext);
  EXPECT_EQ(runtime.properties, (std::vector<cl_context_properties>{CL_CONTEXT_PLATFORM, platform}));
  EXPECT_EQ(runtime.asked_type, cl_device_type{CL_DEVICE_TYPE_CPU});
  EXPECT_EQ(plane(0), kMemory);
  ASSERT_EQ(create({CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(kOtherPlatform), 0}), kContext);
  EXPECT_EQ(runtime.asked_type, cl_device_type{CL_DEVICE_TYPE_GPU});
  EXPECT_EQ(plane(0), nullptr) << "the handle is that of another platform's context now";
  EXPECT_EQ(status, CL_INVALID_CONTEXT);
}

TEST_F(GpuSurfaces, OtherPlatformsKeepTheirOwnCalls) {
  for (const char* name : {kAcquire, "clEnqueueAcquireExternalMemObjectsKHR"}) {
    EXPECT_NE(layer().clGetExtensionFunctionAddressForPlatform(kPlatform, name), nullptr) << name;
    EXPECT_EQ(layer().clGetExtensionFunctionAddressForPlatform(kOtherPlatform, name), nullptr) << name;
  }
}

TEST_F(GpuSurfaces, APlaneIsAnImageOverTheSurfacesMemory) {
  share();
  va.format = va_abi::fourcc('G', 'R', '8', '8');
  va.offset = 32;
  ASSERT_EQ(plane(1), kMemory);
  EXPECT_EQ(status, CL_SUCCESS);
  EXPECT_EQ(runtime.flags, cl_mem_flags{CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR});
  EXPECT_EQ(runtime.format.image_channel_order, cl_channel_order{CL_RG});
  EXPECT_EQ(runtime.format.image_channel_data_type, cl_channel_type{CL_UNORM_INT8});
  EXPECT_EQ(runtime.desc.image_width, 3u);
  EXPECT_EQ(runtime.desc.image_height, 2u);
  EXPECT_EQ(runtime.desc.image_row_pitch, 8u);
  const int value = 42;
  ASSERT_EQ(::pwrite(va.fd, &value, sizeof value, 32), ssize_t{sizeof value});
  EXPECT_EQ(std::memcmp(runtime.host, &value, sizeof value), 0) << "the same memory";
  cl_uint number = 0;
  EXPECT_EQ(layer().clGetImageInfo(kMemory, 0x4099, sizeof number, &number, nullptr), CL_SUCCESS);
  EXPECT_EQ(number, 1u);
  unsigned* surface = nullptr;
  ASSERT_EQ(layer().clGetMemObjectInfo(kMemory, 0x4098, sizeof surface, &surface, nullptr), CL_SUCCESS);
  EXPECT_EQ(*surface, 7u);
  runtime.destroyed(kMemory, runtime.destroyed_data);
  runtime.destroyed = nullptr;
  EXPECT_EQ(layer().clGetImageInfo(kMemory, 0x4099, sizeof number, &number, nullptr), CL_INVALID_VALUE) << "it is gone";
  unsigned char resident = 0;
  EXPECT_EQ(::mincore(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(runtime.host) & ~std::uintptr_t{4095}),
                      1, &resident),
            -1)
      << "unmapped with the image";
}

TEST_F(GpuSurfaces, AreAcquiredWhenTheyAreDecodedAndReleasedWhenCommandsAreOver) {
  share();
  ASSERT_EQ(plane(0), kMemory);
  using Calls = std::vector<std::string>;
  EXPECT_EQ(pass(kRelease, kMemory), -1101) << "not acquired";
  EXPECT_EQ(pass(kAcquire, kMemory), CL_SUCCESS);
  EXPECT_EQ(va.syncs, 1);
  EXPECT_EQ(std::exchange(runtime.calls, {}), (Calls{"marker"}));
  EXPECT_EQ(pass(kAcquire, kMemory), -1100) << "acquired";
  EXPECT_EQ(pass(kRelease, kMemory), CL_SUCCESS);
  EXPECT_EQ(std::exchange(runtime.calls, {}), (Calls{"marker", "finish"}));
  va.status = 6;  // VA_STATUS_ERROR_INVALID_SURFACE: it was destroyed.
  EXPECT_EQ(pass(kAcquire, kMemory), -1099);
  EXPECT_EQ(pass(kAcquire, handle<cl_mem>(0x999)), CL_INVALID_MEM_OBJECT) << "no surface's image";
  EXPECT_EQ(look_up<Pass>(kAcquire)(kQueue, 1, nullptr, 0, nullptr, nullptr), CL_INVALID_VALUE);
}

TEST_F(GpuSurfaces, AnApplicationThatOrdersItsWorkDoesNotWait) {
  share(CL_TRUE);
  ASSERT_EQ(plane(0), kMemory);
  EXPECT_EQ(pass(kAcquire, kMemory), CL_SUCCESS);
  EXPECT_EQ(pass(kRelease, kMemory), CL_SUCCESS);
  EXPECT_EQ(va.syncs, 0);
  EXPECT_EQ(runtime.calls, (std::vector<std::string>{"marker", "marker"}));
}

TEST_F(GpuSurfaces, WhatCannotBeAnImageIsRefused) {
  share();
  const auto refused = [&](cl_int expected, cl_mem made) {
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(status, expected);
  };
  refused(-1099, plane(0, 8));
  refused(CL_INVALID_VALUE, plane(2));
  refused(CL_INVALID_VALUE, plane(0, 7, CL_MEM_COPY_HOST_PTR));
  va.modifier = 1;
  refused(-1099, plane(0));
  va = Va{va.fd, 0, 0, 0, va_abi::fourcc('A', 'R', '2', '4'), 4096, 0};
  refused(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, plane(0));
  va.format = Va{}.format;
  va.offset = 4080;  // Its rows end behind the memory.
  refused(-1099, plane(0));
  va.offset = 0;
  va.bytes = 8192;  // The driver says more than there is.
  refused(-1099, plane(0));
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int vaDisplayIsValid(void* display) { return display == &va; }
__attribute__((visibility("default"))) int vaSyncSurface(void*, unsigned) { return ++va.syncs, va.status; }
__attribute__((visibility("default"))) int vaExportSurfaceHandle(void* display, unsigned surface, std::uint32_t type,
                                                                 std::uint32_t flags, void* descriptor) {
  using namespace tenon::gpu_layer::va_abi;
  if (display != &va || surface != 7 || type != kDrmPrime2 || flags != (kReadWrite | kSeparateLayers)) return 6;
  auto& to = *static_cast<Descriptor*>(descriptor);
  to = {};
  to.width = 6;
  to.height = 4;
  to.object_count = 1;
  to.objects[0] = {::fcntl(va.fd, F_DUPFD_CLOEXEC, 0), va.bytes, va.modifier};
  to.layer_count = 2;
  for (Descriptor::Layer& layer : to.layers) {
    layer.format = va.format;
    layer.planes = 1;
    layer.offset[0] = va.offset;
    layer.pitch[0] = 8;
  }
  return kSuccess;
}
}

}  // namespace tenon::gpu_layer::testing
