// SPDX-License-Identifier: Apache-2.0
// Costs of importing and mapping dma-bufs, each beside the bare system calls it needs. Run it on a kernel with
// dma-bufs: ./dev test-vm build/release/bench/dmabuf_bench
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include <tenon/core/router.hpp>
#include <tenon/core/testing/allocation_count.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>

namespace {

using namespace tenon;
namespace native = dmabuf::native;

constexpr std::size_t kBytes = 1920 * 1080 * 3 / 2;

/// Prints as "allocs" what a loop allocates after its first round, i.e. in the steady state.
class Allocations {
 public:
  explicit Allocations(benchmark::State& state) : state_(state), before_(tenon_test::allocations_of_this_thread()) {}
  ~Allocations() {
    state_.counters["allocs"] = static_cast<double>(tenon_test::allocations_of_this_thread() - before_) /
                                static_cast<double>(std::max<std::int64_t>(state_.iterations(), 1));
  }

 private:
  benchmark::State& state_;
  std::size_t before_;
};

struct Made {
  Router router;
  Tensor tensor{{element::u8, {kBytes}, {}}, dmabuf::allocate(kBytes)};
  bool stand_in = dmabuf::is_stand_in(tensor);
  Made() {
    router.add(host_context());
    router.add(dmabuf::context());
  }
};

void AccessFloor(benchmark::State& state) {
  const Made made;
  const int fd = dmabuf::fd(made.tensor);
  state.SetLabel(made.stand_in ? "stand-in: no calls needed" : "poll, SYNC start, SYNC end");
  for (auto _ : state) {
    if (made.stand_in) continue;
    struct pollfd entry = {fd, POLLOUT, 0};
    ::poll(&entry, 1, 0);
    native::Sync start{native::kSyncStart | native::kSyncRead | native::kSyncWrite};
    ::ioctl(fd, native::kIoctlSync, &start);
    native::Sync end{native::kSyncEnd | native::kSyncRead | native::kSyncWrite};
    ::ioctl(fd, native::kIoctlSync, &end);
  }
}
BENCHMARK(AccessFloor)->Name("Map/floor/bare_bracket");

void MapRepeat(benchmark::State& state) {
  const Made made;
  state.SetLabel(std::string(dmabuf::context()->name()));
  benchmark::DoNotOptimize(made.router.map(made.tensor, host_context(), Access::kReadWrite));
  const Allocations count(state);
  for (auto _ : state) benchmark::DoNotOptimize(made.router.map(made.tensor, host_context(), Access::kReadWrite));
}
BENCHMARK(MapRepeat)->Name("Map/dmabuf->cpu/repeat");

void MapMmapFloor(benchmark::State& state) {
  const Made made;
  const int fd = dmabuf::fd(made.tensor);
  for (auto _ : state) {
    void* address = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    benchmark::DoNotOptimize(address);
    ::munmap(address, kBytes);
  }
}
BENCHMARK(MapMmapFloor)->Name("Map/floor/mmap_each_time");

void SharedRepeat(benchmark::State& state) {
  Made made;
  const Tensor host({element::u8, {kBytes}, {}}, cpu::SharedMemory::allocate(kBytes));
  benchmark::DoNotOptimize(made.router.map(host, dmabuf::context(), Access::kReadWrite));
  const Allocations count(state);
  for (auto _ : state) benchmark::DoNotOptimize(made.router.map(host, dmabuf::context(), Access::kReadWrite));
}
BENCHMARK(SharedRepeat)->Name("Map/cpu->dmabuf/repeat");

void ImportFloor(benchmark::State& state) {
  const Made made;
  const int fd = dmabuf::fd(made.tensor);
  for (auto _ : state) {
    const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct stat status {};
    ::fstat(copy, &status);
    native::Sync nothing{0};
    ::ioctl(copy, native::kIoctlSync, &nothing);
    benchmark::DoNotOptimize(::lseek(copy, 0, SEEK_END));
    ::close(copy);
  }
}
BENCHMARK(ImportFloor)->Name("Import/floor/dup_fstat_sync_lseek");

void Import(benchmark::State& state) {
  const Made made;
  const int fd = dmabuf::fd(made.tensor);
  for (auto _ : state) benchmark::DoNotOptimize(dmabuf::import(dmabuf::UniqueFd::duplicate(fd), kBytes));
}
BENCHMARK(Import)->Name("Import/dmabuf");

void ImportCached(benchmark::State& state) {
  const Made made;
  const int fd = dmabuf::fd(made.tensor);
  dmabuf::ImportCache cache;
  benchmark::DoNotOptimize(cache.import(fd));
  const Allocations count(state);
  for (auto _ : state) benchmark::DoNotOptimize(cache.import(fd));
}
BENCHMARK(ImportCached)->Name("Import/dmabuf/cached");

}  // namespace
