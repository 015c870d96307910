// SPDX-License-Identifier: Apache-2.0
// A context on the software driver, and counts of what the process and the driver hold.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/vaapi/vaapi.hpp>
#include <tenon/tests/support/expects_dmabufs.hpp>  // IWYU pragma: export

namespace tenon::va_test {

/// Open descriptors, and mappings of surfaces: each surface of the driver is mapped once.
struct Held {
  std::size_t descriptors = 0, mappings = 0;
  friend bool operator==(const Held&, const Held&) = default;
};
inline std::ostream& operator<<(std::ostream& out, const Held& held) {
  return out << held.descriptors << " descriptors, " << held.mappings << " mapped surfaces";
}
inline Held held() {
  drain_deferred(default_deadline());
  Held now;
  const std::filesystem::directory_iterator all("/proc/self/fd");
  now.descriptors = static_cast<std::size_t>(std::distance(begin(all), end(all)));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    now.mappings += line.find("/dmabuf:") != std::string::npos || line.find("/memfd:tenon-dmabuf") != std::string::npos;
  return now;
}

/// The display that all tests use: a driver keeps what it sets up for one.
inline const Context& context() {
  static const Context the_one = vaapi::open();
  return the_one;
}

/// Bytes that tell each pixel of each plane apart.
inline std::vector<std::byte> bytes_of(const Tensor& plane, unsigned seed) {
  std::vector<std::byte> bytes(plane.size_bytes());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>((i * 7 + i / 251 + seed * 31) & 0xff);
  return bytes;
}
inline void paint(const Frame& frame, unsigned seed) {
  for (std::size_t p = 0; p < frame.plane_count(); ++p)
    frame.plane(p).context()->write(frame.plane(p), bytes_of(frame.plane(p), seed + static_cast<unsigned>(p)));
}
inline std::vector<std::byte> read(const Tensor& plane) {
  std::vector<std::byte> bytes(plane.size_bytes());
  plane.context()->read(plane, bytes);
  return bytes;
}
inline void expect_painted(const Frame& frame, unsigned seed) {
  for (std::size_t p = 0; p < frame.plane_count(); ++p)
    EXPECT_EQ(read(frame.plane(p)), bytes_of(frame.plane(p), seed + static_cast<unsigned>(p))) << "plane " << p;
}

/// Objects and descriptors at the end are as many as at the beginning.
class VaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const FdKind kind = vaapi::allocate(context(), {kNv12, 64, 64}).plane(0).memory()->fd_kind();  // Sets up, too.
    if (expects_dmabufs()) {
      ASSERT_EQ(kind.name(), FdKind::kDmabuf.name()) << "this kernel has dma-bufs";
    }
    before_ = held();
  }
  void TearDown() override {
    vaapi::native::fault = nullptr;
    EXPECT_EQ(held(), before_) << "something was left behind";
  }

 private:
  Held before_;
};

/// What `call` throws.
template <typename Call>
Code code_of(Call call, std::string* message = nullptr) {
  try {
    call();
  } catch (const Error& error) {
    if (message) *message = error.what();
    return error.code();
  }
  return Code::kOk;
}

}  // namespace tenon::va_test
