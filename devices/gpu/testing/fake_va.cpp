// SPDX-License-Identifier: Apache-2.0
// The entry points of libva.so.2 that the GPU device calls, for tests.
#include <tenon/devices/gpu/testing/fake_va.hpp>

using tenon::gpu_testing::FakeDisplay;

#define FAKE_VA extern "C" __attribute__((visibility("default")))

/// By this tests know that it is loaded.
FAKE_VA int tenon_fake_va() { return 1; }

FAKE_VA int vaSyncSurface(void* display, unsigned surface) {
  auto* fake = static_cast<FakeDisplay*>(display);
  return fake->sync(fake, surface, ~0ull);
}
FAKE_VA int vaSyncSurface2(void* display, unsigned surface, std::uint64_t timeout_ns) {
  auto* fake = static_cast<FakeDisplay*>(display);
  return fake->sync(fake, surface, timeout_ns);
}
FAKE_VA int vaExportSurfaceHandle(void* display, unsigned surface, std::uint32_t type, std::uint32_t flags, void* out) {
  auto* fake = static_cast<FakeDisplay*>(display);
  return fake->export_handle(fake, surface, type, flags, out);
}
FAKE_VA const char* vaErrorStr(int status) {
  return status == 6 ? "invalid VASurfaceID" : status == 0x26 ? "operation timed out" : "a failure of the test's";
}
