// SPDX-License-Identifier: Apache-2.0
// Creates executors and registers them with the driver.
#include <tenon/drivers/npu/run/queue.hpp>

namespace tenon::npu {

std::shared_ptr<Executor> make_executor(Context& context, const Ref<Device>& device, Priority priority,
                                        std::uint64_t spin_ns) {
  auto executor = std::make_shared<Executor>(device, priority, spin_ns);
  context.driver().add_executor(executor);
  return executor;
}

}  // namespace tenon::npu
