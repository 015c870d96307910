// SPDX-License-Identifier: Apache-2.0
#include <tenon/drivers/npu/objects/wait.hpp>
#include <tenon/engine/engine.hpp>

namespace tenon::npu {

std::uint64_t default_spin_ns() noexcept {
  static const std::uint64_t spin = engine::Workers::available_cpus() > 1 ? 20'000 : 0;
  return spin;
}

}  // namespace tenon::npu
