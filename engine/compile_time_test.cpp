// SPDX-License-Identifier: Apache-2.0
// The work of compiling grows linearly with the model: four times the nodes, about four times the work. A step that
// visits all nodes for each node would make it sixteen times.
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <functional>

#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace compile_time_test {

using Make = std::function<std::shared_ptr<Model>(std::size_t nodes)>;

/// User-space work of this thread and of those that it starts: instructions, which load on the machine does not change,
/// if the kernel lets us count them; else nanoseconds of processor time.
class Meter {
 public:
  Meter() {
    perf_event_attr what{};
    what.size = sizeof what;
    what.type = PERF_TYPE_HARDWARE;
    what.config = PERF_COUNT_HW_INSTRUCTIONS;
    what.exclude_kernel = what.exclude_hv = 1;
    what.inherit = 1;
    fd_ = static_cast<int>(::syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  }
  ~Meter() {
    if (fd_ >= 0) ::close(fd_);
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  bool counts_instructions() const { return fd_ >= 0; }
  double now() const {
    std::uint64_t count = 0;
    if (fd_ >= 0 && ::read(fd_, &count, sizeof count) == sizeof count) return static_cast<double>(count);
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
  }

 private:
  int fd_ = -1;
};

/// The work of building, compiling, preparing to run, and releasing.
double work(const Meter& meter, const Make& make, std::size_t nodes, ElementType precision) {
  engine::Options options;
  options.threads = 1;
  options.precision = precision;
  const double begin = meter.now();
  {
    const auto plan = engine::Plan::compile(make(nodes), options);
    const engine::Execution execution(plan);
  }
  return meter.now() - begin;
}

void expect_linear(const char* what, const Make& make, std::size_t nodes = 2000,
                   ElementType precision = ElementType::kF32) {
  const Meter meter;
  work(meter, make, nodes / 4, precision);  // Warms up what is made once per process.
  // Time grows faster than work when a model outgrows the processor's caches, or shares them: the best of some rounds counts.
  const double factor = meter.counts_instructions() ? 5.5 : 12;
  double few = 1e18, many = 1e18;
  for (int round = 0; round < (meter.counts_instructions() ? 1 : 12) && (round < 3 || many >= factor * few); ++round) {
    few = std::min(few, work(meter, make, nodes, precision));
    many = std::min(many, work(meter, make, 4 * nodes, precision));
  }
  EXPECT_LT(many, factor * few) << what << ": " << nodes << " nodes take " << few
                                << (meter.counts_instructions() ? " instructions" : " ns") << ", four times as many "
                                << many;
}

const char* unary(std::size_t i) {
  constexpr const char* kTypes[] = {"Sigmoid", "Abs", "Tanh", "Negative"};
  return kTypes[i % 4];
}

std::shared_ptr<Model> chain(std::size_t nodes) {
  const auto x = parameter({1, 8});
  Out last = x;
  for (std::size_t i = 0; i < nodes; ++i) last = op1(unary(i), 1, {last});
  return std::make_shared<Model>(OutputVector{last}, ParameterVector{x});
}

std::shared_ptr<Model> residuals(std::size_t nodes) {
  const auto x = parameter({1, 8});
  Out last = x;
  for (std::size_t i = 0; i < nodes; i += 2) last = op1("Add", 1, {last, op1("Tanh", 1, {last})});
  return std::make_shared<Model>(OutputVector{last}, ParameterVector{x});
}

/// One value that all nodes read, and one node that reads all of them.
std::shared_ptr<Model> hub(std::size_t nodes) {
  const auto x = parameter({1, 8});
  const Out middle = op1("Sigmoid", 1, {x});
  OutputVector parts;
  for (std::size_t i = 0; i < nodes; ++i) parts.push_back(op1(unary(i), 1, {middle}));
  return std::make_shared<Model>(OutputVector{op1("Concat", 1, parts, {{"axis", 0}})}, ParameterVector{x});
}

/// The same, along an axis where the parts can't lie in place.
std::shared_ptr<Model> scattered_hub(std::size_t nodes) {
  const auto x = parameter({2, 1});
  const Out middle = op1("Sigmoid", 1, {x});
  OutputVector parts;
  for (std::size_t i = 0; i < nodes; ++i) parts.push_back(op1(unary(i), 1, {middle}));
  return std::make_shared<Model>(OutputVector{op1("Concat", 1, parts, {{"axis", 1}})}, ParameterVector{x});
}

std::shared_ptr<Model> concat_of_one(std::size_t nodes) {
  const auto x = parameter({1, 8});
  return std::make_shared<Model>(
      OutputVector{op1("Concat", 1, OutputVector(nodes, op1("Sigmoid", 1, {x})), {{"axis", 0}})}, ParameterVector{x});
}

std::shared_ptr<Model> products_with_constants(std::size_t nodes) {
  const auto x = parameter({1, 8});
  Out last = x;
  for (std::size_t i = 0; i < nodes; ++i)
    last = op1("Multiply", 1, {last, scalar(1.0 + 1e-6 * static_cast<double>(i))});
  return std::make_shared<Model>(OutputVector{last}, ParameterVector{x});
}

std::shared_ptr<Model> growing_concat(std::size_t nodes) {
  const auto x = parameter({1});
  Out last = x;
  for (std::size_t i = 0; i < nodes / 2; ++i) last = op1("Concat", 1, {op1("Tanh", 1, {x}), last}, {{"axis", 0}});
  return std::make_shared<Model>(OutputVector{last}, ParameterVector{x});
}

/// Many matrix products, and a long way from each to the end of the model.
std::shared_ptr<Model> products_before_a_tail(std::size_t nodes) {
  const auto x = parameter({1, 8});
  const Out w = weights(Shape{8, 8});
  Out last = x;
  for (std::size_t i = 0; i < nodes / 8; ++i) last = op1("Add", 1, {last, op1("MatMul", 1, {x, w})});
  for (std::size_t i = 0; i < nodes; ++i) last = op1(unary(i), 1, {last});
  return std::make_shared<Model>(OutputVector{last}, ParameterVector{x});
}

std::shared_ptr<Model> many_results(std::size_t nodes) {
  const auto x = parameter({1, 8});
  OutputVector results;
  for (std::size_t i = 0; i < nodes; ++i) results.push_back(op1(unary(i), 1, {x}));
  return std::make_shared<Model>(results, ParameterVector{x});
}

TEST(CompileTime, OfChainsIsLinear) { expect_linear("a chain", chain); }
TEST(CompileTime, OfResidualChainsIsLinear) { expect_linear("a residual chain", residuals); }
TEST(CompileTime, OfAHubIsLinear) {
  expect_linear("a hub", hub);
  expect_linear("a hub whose readers' values all live at once", scattered_hub);
}
TEST(CompileTime, OfAConcatenationOfOneValueIsLinear) { expect_linear("Concat", concat_of_one, 10000); }
TEST(CompileTime, OfProductsWithConstantsIsLinear) { expect_linear("Multiply", products_with_constants); }
TEST(CompileTime, OfConcatenationsInConcatenationsIsLinear) { expect_linear("nested Concat", growing_concat, 2000); }
TEST(CompileTime, OfProductsInBf16IsLinear) {
  expect_linear("MatMul in bf16", products_before_a_tail, 2000, ElementType::kBf16);
}
TEST(CompileTime, OfManyResultsIsLinear) { expect_linear("many results", many_results, 2000); }

}  // namespace compile_time_test
}  // namespace tenon::engine_test
