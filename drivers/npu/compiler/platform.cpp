// SPDX-License-Identifier: Apache-2.0
// The table of platforms.
#include <tenon/drivers/npu/compiler/platform.hpp>

namespace tenon::npu::compiler {
namespace {

constexpr Platform kPlatforms[] = {
    {3720, 2, 2, 2, 2},
    {4000, 6, 4, 2, 2},
};

}  // namespace

std::span<const Platform> platforms() { return kPlatforms; }

const Platform* find_platform(std::uint32_t id) {
  for (const Platform& platform : kPlatforms)
    if (platform.id == id) return &platform;
  return nullptr;
}

}  // namespace tenon::npu::compiler
