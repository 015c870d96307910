// SPDX-License-Identifier: Apache-2.0
// Core, the hubs and frameworks/null without a library: a program of two source files, one state.
#include <tenon/frameworks/dmabuf/header_only.hpp>
#include <tenon/frameworks/null/header_only.hpp>

#include <cstdio>
#include <cstdlib>

#include <tenon/tests/header_only/parts.hpp>

namespace {

using namespace tenon;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "header_only_test: %s\n", what);
  std::exit(1);
}

void check_core() {
  Tensor tensor(element::f32, {2, 3});
  tensor.data<float>()[5] = 4;
  Tensor copy;
  tensor.copy_to(copy);
  expect(copy.data<float>()[5] == 4, "copy_to");
  Router router;
  router.add(host_context());
  expect(router.map(tensor, host_context()).data() == tensor.data(), "map");
  expect(Frame::allocate({kNv12, 64, 48}).plane_count() == 2, "frame");
  try {
    tensor.slice({0, 0}, {9, 9});
    expect(false, "nothing was thrown");
  } catch (const Error& error) {
    expect(error.code() == Code::kOutOfRange, "code");
  }
}

void check_cpu() {
  cpu::Pool pool(64, 2);
  void* const first = pool.acquire_tensor({element::u8, {64}, {}}).data();
  expect(pool.acquire_tensor({element::u8, {64}, {}}).data() == first, "a pool does not reuse its buffer");
  expect(pool.size() == 1 && pool.idle() == 1, "the pool's counts");
  int released = 0;
  char bytes[16] = {};
  cpu::adopt(bytes, {element::u8, {16}, {}}, [&released] { ++released; });
  expect(released == 1, "a release that did not come once");
  expect(cpu::point_of_eventfd(cpu::eventfd_of(TimelinePoint::ready())).state() == PointState::kReached, "eventfd");
}

/// What `framework` maps for the CPU is what was written there.
void check_memory(const Context& framework, const char* what) {
  Router router;
  for (const Context& context : {host_context(), framework}) router.add(context);
  Requirements wanted;
  wanted.size_bytes = 4096;
  const Tensor theirs({element::u8, {4096}, {}}, framework->allocate(wanted));
  const std::vector<std::byte> written(4096, std::byte{7});
  framework->write(theirs, written);
  expect(router.map(theirs, host_context(), Access::kRead).data<std::uint8_t>()[4095] == 7, what);
}

}  // namespace

int main() {
  check_core();
  check_cpu();
  check_memory(dmabuf::context(), "dma-bufs");
  check_memory(null::context(), "blocks of null");

  Requirements wanted;
  wanted.size_bytes = 64;
  const Ref<Memory> block = null::context()->allocate(wanted);
  const header_only::Parts there = header_only::parts_of_the_other_file("header only");
  expect(there.ledger == &Ledger::process(), "two ledgers");
  expect(there.edge == register_edge("header only"), "two numbers for one edge");
  expect(there.cpu == host_context() && there.cpu == cpu::context(), "two host contexts");
  expect(there.dmabuf == dmabuf::context(), "two contexts of dma-bufs");
  expect(there.null == null::context(), "two contexts of null");
  expect(there.from_dmabuf && there.from_dmabuf == header_only::edge_to_cpu(dmabuf::context()),
         "two edges dmabuf->cpu");
  expect(there.from_null && there.from_null == header_only::edge_to_cpu(null::context()), "two edges null.block->cpu");
  expect(there.null_blocks == 1 && null::native::live_blocks() == 1, "two counts of blocks");
  return 0;
}
