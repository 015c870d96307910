// SPDX-License-Identifier: Apache-2.0
// Creates executors and registers them with the driver.
#include <tenon/drivers/npu/run/queue.hpp>

namespace tenon::npu {

std::shared_ptr<Executor> make_executor(Context& context, const Ref<Device>& device,
                                        const Executor::Settings& settings) {
  auto executor = std::make_shared<Executor>(Ref<Context>(context), device, settings);
  context.driver().add_executor(executor);
  return executor;
}

}  // namespace tenon::npu
