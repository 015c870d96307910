// SPDX-License-Identifier: Apache-2.0
// Compiled and linked at configuration to check that a plain C++ compiler can use the SYCL runtime's headers and library.
#include <sycl/sycl.hpp>

int main() {
  sycl::queue queue;
  void* const data = sycl::malloc_host(16, queue);
  const sycl::event event = queue.memcpy(data, data, 1);
  const bool done =
      event.get_info<sycl::info::event::command_execution_status>() == sycl::info::event_command_status::complete;
  sycl::free(data, queue);
  return done ? 0 : 1;
}
