// SPDX-License-Identifier: Apache-2.0
// Creates executors and registers them with the driver, which finds the users of memory by them.
#include <tenon/drivers/npu/run/queue.hpp>

namespace tenon::npu {

std::shared_ptr<Executor> make_executor(Context& context, const Ref<Device>& device,
                                        const Executor::Settings& settings) {
  auto executor = std::make_shared<Executor>(Ref<Context>(context), device, settings);
  context.driver().add_executor(executor);
  return executor;
}

ze_result_t while_unused(const Driver& driver, const Allocation& memory, const std::function<ze_result_t()>& change) {
  std::vector<std::shared_ptr<Executor>> executors;  // Outlives the locks: it may hold the last reference to one.
  std::unique_lock<std::mutex> none_added;
  executors = driver.executors(&none_added);
  std::vector<std::unique_lock<std::mutex>> held;
  held.reserve(executors.size());
  for (const auto& executor : executors) {
    held.push_back(executor->hold_without_users_of(memory));
    if (!held.back()) return fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "a running command uses the memory");
  }
  return change();
}

ze_result_t when_unused(const Driver& driver, const Allocation& memory, Deadline deadline,
                        const std::function<ze_result_t()>& change) {
  for (;;) {
    const ze_result_t result = while_unused(driver, memory, change);
    if (result != ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE || deadline.passed()) return result;
    for (const auto& executor : driver.executors()) executor->wait_for_users_of(memory, deadline);
  }
}

}  // namespace tenon::npu
