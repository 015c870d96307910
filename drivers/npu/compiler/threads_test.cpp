// SPDX-License-Identifier: Apache-2.0
// Options that limit threads, checked by the CPU time of each thread of this process.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <tenon/drivers/npu/testing/compiled.hpp>

namespace tenon::npu::compiler {
namespace threads_test {

/// CPU time in ns of this thread and of all others.
struct CpuTimes {
  double own = 0, others = 0;
  static CpuTimes now() {
    CpuTimes times;
    const std::string self = std::to_string(::syscall(SYS_gettid));
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
      double ns = 0;
      std::ifstream(entry.path() / "schedstat") >> ns;
      (entry.path().filename() == self ? times.own : times.others) += ns;
    }
    return times;
  }
};

/// Ratio of the other threads' CPU time to this one's.
template <class Work>
double share_of_others(Work work) {
  const CpuTimes before = CpuTimes::now();
  work();
  const CpuTimes after = CpuTimes::now();
  return (after.others - before.others) / std::max(after.own - before.own, 1.0);
}

/// The first share above `enough`, else the last one of 20 s: on a busy machine other threads may start too late to help, many times in
/// turn.
template <class Work>
double share_above(double enough, Work work) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  double share = 0;
  while ((share = share_of_others(work)) <= enough && std::chrono::steady_clock::now() < deadline) {
  }
  return share;
}

/// Many weights to pack and little to fold.
std::shared_ptr<Model> heavy_model() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 512, 14, 14});
  Output<Node> value = x->output(0);
  for (int i = 0; i < 6; ++i) {
    const Tensor weights = random_tensor(ElementType::kF32, {512, 512, 3, 3}, static_cast<unsigned>(i));
    const auto constant = std::make_shared<op::v0::Constant>(weights);
    const Attributes attributes({{"strides", Attribute(std::vector<std::int64_t>{1, 1})},
                                 {"pads_begin", Attribute(std::vector<std::int64_t>{1, 1})},
                                 {"pads_end", Attribute(std::vector<std::int64_t>{1, 1})},
                                 {"dilations", Attribute(std::vector<std::int64_t>{1, 1})}});
    value = make_node("Convolution", 1, {value, constant->output(0)}, attributes)->output(0);
    value = std::make_shared<op::v0::Relu>(value)->output(0);
  }
  return std::make_shared<Model>(OutputVector{value}, ParameterVector{x}, "heavy");
}

TEST(CompilationThreads, BoundWhoTakesPartAndNotThePlan) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "under the thread sanitizer loops run on one thread";
#endif
  if (engine::Workers::available_cpus() < 2) GTEST_SKIP() << "one CPU";
  const Bytes ir = in_memory(*heavy_model());
  const auto compile_with = [&](const std::string& threads) {
    const std::string flags =
        "--config NPU_TILES=\"6\" INFERENCE_PRECISION_HINT=\"f32\" LOG_LEVEL=\"LOG_INFO\"" + threads;
    return compile(request_for(ir, flags.c_str()), nullptr);
  };
  Compiled one, all;
  const double of_one = share_of_others([&] { one = compile_with(" COMPILATION_NUM_THREADS=\"1\""); });
  EXPECT_LT(of_one, 0.05);
  EXPECT_GT(share_above(of_one + 0.02, [&] { all = compile_with(""); }), of_one + 0.02);
  EXPECT_EQ(one.log, all.log) << "the same kernels, cut for the threads that run them";
  EXPECT_EQ(one.program->settings().target.workers(), std::min(6, engine::Workers::available_cpus()));
}

TEST(DmaEngines, AreTheThreadsThatMoveArguments) {
  if (engine::Workers::available_cpus() < 2) GTEST_SKIP() << "one CPU";
  constexpr std::size_t kRows = 2048, kColumns = 4096;
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{kRows, kColumns});
  const auto index = op::v0::Constant::create(element::i64, Shape{1}, {kRows - 1});
  const auto axis = op::v0::Constant::create(element::i64, Shape{}, {0});
  const auto last = make_node("Gather", 8, {x->output(0), index->output(0), axis->output(0)});
  const auto model = std::make_shared<Model>(OutputVector{last->output(0)}, ParameterVector{x}, "last row");
  std::vector<float> memory(kRows * kColumns + 1), y(kColumns);
  memory[kRows * kColumns - 1] = 42;
  auto* odd = reinterpret_cast<char*>(memory.data()) + 1;  // Misaligned for every kernel.
  std::memmove(odd, memory.data(), sizeof(float) * kRows * kColumns);
  engine::Workers alone(1);
  const auto run_with = [&](const char* flags) {
    ProgramRun run(program_of(*model, flags));
    run.set_argument(0, odd);
    run.set_argument(1, y.data());
    run.execute(alone);
    y.back() = 0;
    const double share = std::string(flags).find("\"1\"") != std::string::npos
                             ? share_of_others([&] { run.execute(alone); })
                             : share_above(0.05, [&] { run.execute(alone); });
    EXPECT_EQ(y.back(), 42);
    EXPECT_EQ(run.copied_bytes(), sizeof(float) * kRows * kColumns);
    return share;
  };
  EXPECT_LT(run_with("--config NPU_DMA_ENGINES=\"1\""), 0.05);
  EXPECT_GT(run_with("--config NPU_DMA_ENGINES=\"2\""), 0.05);
}

}  // namespace threads_test
}  // namespace tenon::npu::compiler
