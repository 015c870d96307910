// SPDX-License-Identifier: Apache-2.0
// DL Streamer's SYCL classes on the first device of SYCL's runtime. Says what failed, and exits with the number of failures.
#include "dlstreamer/sycl/mappers/sycl_usm_to_cpu.h"

#include <cstdio>
#include <memory>

#include "dlstreamer/cpu/context.h"
#include "dlstreamer/memory_mapper_factory.h"

namespace {

int failures = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("failed: %s\n", what);
  ++failures;
}

}  // namespace

int main() {
  using namespace dlstreamer;
  sycl::queue queue{sycl::property::queue::in_order()};
  const auto context = SYCLContext::create(queue);
  expect(context->handle(SYCLContext::key::sycl_queue) != nullptr, "the queue is a handle");
  const ContextPtr cpu = std::make_shared<CPUContext>();
  for (const sycl::usm::alloc type : {sycl::usm::alloc::host, sycl::usm::alloc::shared, sycl::usm::alloc::device}) {
    const TensorPtr tensor = std::make_shared<SYCLUSMTensor>(TensorInfo({256}), context, type);
    expect(ptr_cast<SYCLUSMTensor>(tensor)->usm_type() == type, "memory is of the type that was asked for");
    queue.memset(tensor->data(), 7, 256).wait();
    const TensorPtr mapped = MemoryMapperSYCLUSMToCPU(context, cpu).map(tensor, AccessMode::Read);
    expect(mapped->data<uint8_t>()[255] == 7, "the host sees what the queue wrote");
    expect((mapped->data() == tensor->data()) == (type != sycl::usm::alloc::device),
           "only memory of the device is copied");
  }
  int* const numbers = context->malloc<int>(4, sycl::usm::alloc::shared);
  context->free(numbers);
  std::printf("%d failures\n", failures);
  return failures;
}
