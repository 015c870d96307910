// SPDX-License-Identifier: Apache-2.0
// A few blocks for the whole process.
#include <tenon/drivers/vaapi/objects/spare_bytes.hpp>

#include <array>
#include <mutex>
#include <utility>

namespace tenon::va {
namespace {

constexpr std::size_t kMin_bytes = std::size_t{64} << 10, kMax_bytes = std::size_t{32} << 20;

struct Spares {
  std::mutex mutex;
  std::array<std::vector<std::uint8_t>, 4> blocks;
  std::size_t next = 0;
};

Spares& spares() {
  static Spares& all = *new Spares;  // Buffers may be destroyed after static objects.
  return all;
}

}  // namespace

std::vector<std::uint8_t> take_bytes(std::size_t size_bytes) {
  if (size_bytes >= kMin_bytes) {
    const std::lock_guard lock(spares().mutex);
    for (auto& block : spares().blocks)
      if (block.size() == size_bytes) return std::exchange(block, {});
  }
  return std::vector<std::uint8_t>(size_bytes);
}

void give_back_bytes(std::vector<std::uint8_t>&& bytes) noexcept {
  if (bytes.size() < kMin_bytes || bytes.size() > kMax_bytes) return;
  std::vector<std::uint8_t> oldest;  // Freed without the lock.
  const std::lock_guard lock(spares().mutex);
  auto& block = spares().blocks[spares().next++ % spares().blocks.size()];
  oldest = std::exchange(block, std::move(bytes));
}

}  // namespace tenon::va
