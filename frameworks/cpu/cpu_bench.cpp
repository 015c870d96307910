// SPDX-License-Identifier: Apache-2.0
// What wrapping, pooling and routing cost, each beside its bare floor.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/cpu/pool.hpp>

namespace {

using namespace tenon;

/// libstdc++ counts without atomics until a second thread has run; real programs have one.
const bool threads_ran = [] { return std::thread([] {}).join(), true; }();

alignas(64) float g_data[3 * 224 * 224];

/// What a wrapped tensor keeps, as a plain struct: describes the same bytes, owns nothing, released the same way.
struct Equal {
  ElementType type;
  Shape shape;
  ByteStrides strides;
  void* data;
  std::size_t size_bytes;
  const void* context;
  std::uint64_t kind;
  std::size_t offset = 0;
  std::function<void()> release;
  std::atomic<void*> views{nullptr}, hazards{nullptr};

  Equal(ElementType t, const Shape& s, const ByteStrides& b, void* d, std::size_t bytes, const void* c, std::uint64_t k)
      : type(t), shape(s), strides(b), data(d), size_bytes(bytes), context(c), kind(k) {}
};

void WrapFloor(benchmark::State& state) {
  const Shape shape{1, 3, 224, 224};
  const int context = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(std::make_shared<Equal>(element::f32, shape, packed_strides(element::f32, shape), g_data,
                                                     sizeof g_data, &context, 1));
  }
}
BENCHMARK(WrapFloor)->Name("Wrap/floor/make_shared");

void WrapTensor(benchmark::State& state) {
  const Shape shape{1, 3, 224, 224};
  for (auto _ : state) benchmark::DoNotOptimize(Tensor(element::f32, shape, g_data));
}
BENCHMARK(WrapTensor)->Name("Wrap/cpu/224x224_rgb");

void WrapByFramework(benchmark::State& state) {
  const Shape shape{1, 3, 224, 224};
  for (auto _ : state) benchmark::DoNotOptimize(cpu::wrap(g_data, {element::f32, shape, {}}));
}
BENCHMARK(WrapByFramework)->Name("Wrap/cpu::wrap/224x224_rgb");

void CopyTensorFloor(benchmark::State& state) {
  const auto source =
      std::make_shared<Equal>(element::f32, Shape{1, 3, 224, 224}, ByteStrides{}, g_data, sizeof g_data, nullptr, 1);
  struct Value {
    Shape shape;
    ByteStrides strides;
    std::shared_ptr<Equal> memory;
  } value{source->shape, {602112, 200704, 896, 4}, source};
  for (auto _ : state) {
    Value copy = value;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(CopyTensorFloor)->Name("CopyTensor/floor/shared_ptr_and_shape");

void CopyTensor(benchmark::State& state) {
  const Tensor source(element::f32, {1, 3, 224, 224}, g_data);
  for (auto _ : state) {
    Tensor copy = source;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(CopyTensor)->Name("CopyTensor/cpu");

/// A free list under a mutex: what any pool costs.
void PoolFloor(benchmark::State& state) {
  std::mutex mutex;
  std::vector<void*> free{g_data};
  for (auto _ : state) {
    void* buffer;
    {
      std::lock_guard lock(mutex);
      buffer = free.back();
      free.pop_back();
    }
    benchmark::DoNotOptimize(buffer);
    std::lock_guard lock(mutex);
    free.push_back(buffer);
  }
}
BENCHMARK(PoolFloor)->Name("Pool/floor/mutex_and_vector");

void PoolAcquire(benchmark::State& state) {
  cpu::Pool pool(4096, 2);
  for (auto _ : state) benchmark::DoNotOptimize(pool.try_acquire());
}
BENCHMARK(PoolAcquire)->Name("Pool/try_acquire_and_return");

void FramePoolAcquire(benchmark::State& state) {
  Requirements wanted;
  wanted.pitch_alignment = 64;
  cpu::FramePool pool({kNv12, 1920, 1080}, wanted, 2);
  for (auto _ : state) benchmark::DoNotOptimize(pool.try_acquire());
}
BENCHMARK(FramePoolAcquire)->Name("Pool/frame_1080p_nv12");

/// Twenty contexts in a row, each reachable from its neighbour, and every second from the host: a plausible crowd.
class CrowdContext final : public ContextImpl {
 public:
  explicit CrowdContext(MemoryKind kind) : kind_(kind) {}
  std::string_view name() const override { return kind_.name(); }
  MemoryKind kind() const override { return kind_; }

 private:
  MemoryKind kind_;
};
class CrowdEdge final : public Edge {
 public:
  CrowdEdge(MemoryKind from, MemoryKind to, bool refuses)
      : from_(from), to_(to), refuses_(refuses), name_(std::string(from.name()) + "->" + std::string(to.name())) {}
  std::string_view name() const override { return name_; }
  MemoryKind from() const override { return from_; }
  MemoryKind to() const override { return to_; }
  Step step(const Description& from, const Context& to, Access) const override {
    if (refuses_) return Refusal{"the driver lacks an extension"};
    Reached reached{from, false, 100, 0};
    reached.result.context = to;
    reached.result.kind = to_;
    return reached;
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions&) const override {
    return source.through(
        &source.memory()->add_view(std::make_unique<View>(to, to_, Access::kReadWrite, source.memory()->host())));
  }

 private:
  MemoryKind from_, to_;
  bool refuses_;
  std::string name_;
};
struct Crowd {
  std::deque<std::string> names;
  std::vector<Context> contexts{host_context()};
  std::deque<CrowdEdge> edges;
  Crowd() {
    for (int i = 1; i < 20; ++i) {
      names.push_back("kind" + std::to_string(i));
      contexts.emplace_back(make_ref<CrowdContext>(MemoryKind(names.back())));
    }
    for (int i = 0; i + 1 < 20; ++i) edge(i, i + 1, false), edge(i + 1, i, false);
    for (int i = 2; i < 20; i += 2)
      edge(0, i, true), edge(i, 0, false);  // The short cuts are refused: every place is judged.
  }
  void edge(int from, int to, bool refuses) {
    edges.emplace_back(contexts[static_cast<std::size_t>(from)]->kind(), contexts[static_cast<std::size_t>(to)]->kind(),
                       refuses);
  }
  void fill(Router& router) const {
    for (const Context& context : contexts) router.add(context);
    std::vector<const Edge*> pointers;
    for (const CrowdEdge& e : edges) pointers.push_back(&e);
    router.add(pointers);
  }
};
const Crowd& crowd() {
  static const Crowd* made = new Crowd;
  return *made;
}

void RouteFloor(benchmark::State& state) {
  // A look-up by the numbers that tell two routes apart, in a map of the same population.
  std::unordered_map<std::uint64_t, Ref<const Route>> map;
  for (std::uint64_t i = 0; i < 20; ++i) map.emplace(i * 0x9e3779b97f4a7c15ull, nullptr);
  std::uint64_t key = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(key);
    benchmark::DoNotOptimize(map.find(key)->second);
  }
}
BENCHMARK(RouteFloor)->Name("Route/floor/unordered_map");

void RouteFloorHashed(benchmark::State& state) {
  // The same with the description as the key, hashed and compared in the simplest way: what no cache by description can
  // avoid.
  struct Key {
    std::uint64_t numbers[18];  // Context, kind, type, four extents, four strides, offset, size, alignment, modifier,
                                // flags, target, policy.
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string_view>()({reinterpret_cast<const char*>(key.numbers), sizeof key.numbers});
    }
  };
  std::unordered_map<Key, Ref<const Route>, Hash> map;
  for (std::uint64_t i = 0; i < 20; ++i) map.emplace(Key{{i, 1, 2, 3, 224, 224, 4}}, nullptr);
  Key key{{7, 1, 2, 3, 224, 224, 4}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(key);
    Ref<const Route> plan = map.find(key)->second;
    benchmark::DoNotOptimize(plan);
  }
}
BENCHMARK(RouteFloorHashed)->Name("Route/floor/unordered_map_by_description");

void RouteCached(benchmark::State& state) {
  Router router;
  crowd().fill(router);
  const Tensor source(element::f32, {1, 3, 224, 224}, g_data);
  const Description description = describe(source);
  for (const Context& context : crowd().contexts) router.plan(description, context);
  const Context target = crowd().contexts[10];
  for (auto _ : state) benchmark::DoNotOptimize(router.plan(description, target));
}
BENCHMARK(RouteCached)->Name("Route/cached/20_contexts");

void RouteCold(benchmark::State& state) {
  Router router;
  crowd().fill(router);
  const Tensor source(element::f32, {1, 3, 224, 224}, g_data);
  Description description = describe(source);
  const Context target = crowd().contexts[19];
  for (auto _ : state) {
    ++description.offset;  // Never seen before.
    benchmark::DoNotOptimize(router.plan(description, target));
  }
}
BENCHMARK(RouteCold)->Name("Route/cold/20_contexts_19_hops")->Unit(benchmark::kMicrosecond);

}  // namespace
