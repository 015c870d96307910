// SPDX-License-Identifier: Apache-2.0
// The frameworks under test, and the counts that the suite takes of the process.
#include <algorithm>
#include <fstream>
#include <string>

#include <tenon/core/platform/files.hpp>
#include <tenon/tests/conformance/suite.hpp>

namespace tenon::conformance {
namespace {

std::vector<std::unique_ptr<FrameworkUnderTest>>& registry() {
  static std::vector<std::unique_ptr<FrameworkUnderTest>> frameworks;
  return frameworks;
}

}  // namespace

bool add(std::unique_ptr<FrameworkUnderTest> framework) {
  auto& frameworks = registry();
  const auto after = std::find_if(frameworks.begin(), frameworks.end(),
                                  [&](const auto& other) { return other->name() > framework->name(); });
  frameworks.insert(after, std::move(framework));
  return true;
}

const std::vector<std::unique_ptr<FrameworkUnderTest>>& all() { return registry(); }

std::size_t open_descriptors() { return platform::open_descriptor_count(); }

std::size_t shared_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("/dmabuf:") != std::string::npos || line.find("/memfd:tenon") != std::string::npos;
  return count;
}

std::string excluded(const FrameworkUnderTest& framework, std::string_view test) {
  for (const Exclusion& exclusion : framework.exclusions()) {
    if (exclusion.test == test) return std::string(framework.name()) + ": " + exclusion.reason;
  }
  return {};
}

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  std::uint32_t state = seed * 2654435761u + 12345u;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

void fill(const Tensor& tensor, unsigned seed) { tensor.context()->write(tensor, pattern(tensor.size_bytes(), seed)); }

std::vector<std::byte> content(const Tensor& tensor) {
  std::vector<std::byte> bytes(tensor.size_bytes());
  tensor.context()->read(tensor, bytes);
  return bytes;
}

std::vector<TensorInfo> sample_infos() {
  return {
      {element::u8, {1000}, {}},
      {element::f32, {2, 3, 5, 7}, {}},
      {element::u8, {33, 50}, {64, 1}},        // Padded rows, as in a picture.
      {element::f16, {4, 5, 3}, {128, 8, 2}},  // Padded along two axes.
      {element::i64, {}, {}},                  // A scalar.
      {element::u8, {0, 4}, {}},               // No elements.
      {element::u4, {3, 5}, {}},               // Packed below a byte.
      {element::u8, {1 << 20}, {}},            // More than a page, more than a driver's staging buffer.
  };
}

std::vector<PixelFormat> sample_formats() { return {kNv12, kP010, kI420, kGray8, kYuy2, kRgb24, kBgra, kRgbPlanar}; }

}  // namespace tenon::conformance
