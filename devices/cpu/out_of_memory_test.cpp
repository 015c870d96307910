// SPDX-License-Identifier: Apache-2.0
// Too few descriptors, memory or threads: a result, or an error that names the need; never a crash.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon {
namespace out_of_memory_test {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// y = relu(conv(conv(x))), some megabytes of weights and of intermediate results.
std::shared_ptr<Model> network() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 64, 64, 64});
  const std::vector<std::int64_t> ones{1, 1};
  Output<Node> at = x->output(0);
  for (const std::size_t outputs : {256u, 64u}) {
    Tensor weights(element::f32, Shape{outputs, at.get_shape()[1], 3, 3});
    for (std::size_t i = 0; i < weights.element_count(); ++i)
      weights.data<float>()[i] = 0.01f * std::sin(static_cast<float>(i));
    at = std::make_shared<op::v1::Convolution>(at, std::make_shared<op::v0::Constant>(weights), ones, ones, ones, ones)
             ->output(0);
  }
  const auto y = std::make_shared<op::v0::Relu>(at);
  return std::make_shared<Model>(OutputVector{y->output(0)}, ParameterVector{x}, "network");
}

void limit(int which, rlim_t value) {
  const rlimit both{value, value};
  if (::setrlimit(static_cast<__rlimit_resource_t>(which), &both) != 0) std::perror("setrlimit");
}

std::size_t address_space_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Writes without allocations or buffers.
void say(const char* text) {
  if (::write(STDOUT_FILENO, text, std::strlen(text)) < 0) std::_Exit(3);
}

/// Writes "name: ok", or "name: failed: " and the error.
template <typename Body>
void step(const char* name, Body&& body) {
  say(name);
  try {
    body();
    say(": ok\n");
  } catch (const std::exception& error) {
    say(": failed: ");
    say(error.what());
    say("\n");
  }
}

/// The program that runs under a limit, which its environment names: "NOFILE 12".
TEST(CpuShortageProgram, Runs) {
  const char* text = std::getenv("TENON_TEST_LIMIT");
  if (!text) GTEST_SKIP() << "the program that CpuShortage starts";
  const std::string model = std::getenv("TENON_TEST_MODEL"), folder = std::getenv("TENON_TEST_CACHE");
  const std::string which = std::string(text).substr(0, std::string(text).find(' '));
  const auto value = static_cast<rlim_t>(std::strtoull(text + which.size(), nullptr, 10));
  if (which == "NPROC") {
    // Limits on threads do not apply to root.
    if (::getuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setresuid(54321, 54321, 54321) != 0)) std::_Exit(4);
    limit(RLIMIT_NPROC, value);
  }
  if (which == "NOFILE") limit(RLIMIT_NOFILE, value);
  if (which == "AS") limit(RLIMIT_AS, address_space_bytes() + value);
  CompiledModel compiled;
  step("compile", [&] {
    Core core;
    compiled = core.compile_model(std::filesystem::path(model), "CPU", cache_dir(folder), num_streams(2));
  });
  for (int i = 0; i < 2 && compiled; ++i) {
    InferRequest request;
    step("request", [&] { request = compiled.create_infer_request(); });
    if (!request) continue;
    step("infer", [&] { request.infer(); });
    step("async", [&] {
      request.start_async();
      request.wait();
    });
  }
  say("the end\n");
  std::_Exit(0);
}

class CpuShortage : public ::testing::Test {
 protected:
  void SetUp() override {
    serialize(*network(), folder.path() / "m.xml");
    // The program may run as another user.
    ::chmod(folder.path().c_str(), 0777);
  }
  /// The program's output. Fails the test if the program crashes or fails.
  std::string under(const std::string& limit) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::vector<std::string> environment{"TENON_TEST_LIMIT=" + limit,
                                         "TENON_TEST_MODEL=" + (folder.path() / "m.xml").string(),
                                         "TENON_TEST_CACHE=" + (folder.path() / limit).string()};
    for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
    std::vector<char*> pointers;
    for (std::string& entry : environment) pointers.push_back(entry.data());
    pointers.push_back(nullptr);
    std::string program = "/proc/self/exe", filter = "--gtest_filter=CpuShortageProgram.Runs";
    char* arguments[] = {program.data(), filter.data(), nullptr};
    pid_t child = 0;
    EXPECT_EQ(::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, pointers.data()), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::string said;
    pollfd ready{ends[0], POLLIN, 0};
    bool hangs = false;
    for (char buffer[4096];;) {
      hangs = ::poll(&ready, 1, 60'000) == 0;
      const ssize_t count = hangs ? 0 : ::read(ends[0], buffer, sizeof buffer);
      if (count <= 0) break;
      said.append(buffer, static_cast<std::size_t>(count));
    }
    ::close(ends[0]);
    if (hangs) ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_FALSE(hangs) << limit << ":\n" << said;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << limit << ": signal " << (WIFSIGNALED(status) ? WTERMSIG(status) : 0) << "\n"
        << said;
    return said;
  }
  /// Runs under each limit; errors must name the need. @return how many limits let all steps succeed.
  int sweep(const std::string& which, const std::vector<std::size_t>& values) {
    int good = 0;
    for (const std::size_t value : values) {
      const std::string limit = which + ' ' + std::to_string(value), said = under(limit);
      EXPECT_THAT(said, HasSubstr("the end")) << limit;
      if (said.find("failed") == std::string::npos) ++good;
      std::istringstream lines(said);
      for (std::string line; std::getline(lines, line);) {
        if (line.find(": failed: ") == std::string::npos) continue;
        EXPECT_THAT(line, AnyOf(HasSubstr("CPU"), HasSubstr("Core"), HasSubstr("m.xml"), HasSubstr("m.bin"),
                                HasSubstr("network")))
            << limit << " failed without a name";
        EXPECT_THAT(line, Not(HasSubstr("std::bad_alloc"))) << limit;
      }
    }
    return good;
  }
  const TemporaryFolder folder;
};

TEST_F(CpuShortage, FewDescriptors) {
  const int good = sweep("NOFILE", {3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 32});
  EXPECT_GT(good, 0);
  EXPECT_LT(good, 11);
}

TEST_F(CpuShortage, LittleMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's shadow wants all of the address space";
#endif
  std::vector<std::size_t> sizes;
  for (std::size_t kilobytes : {0, 16, 64, 256}) sizes.push_back(kilobytes << 10);
  for (std::size_t megabytes : {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 2048})
    sizes.push_back(megabytes << 20);
  const int good = sweep("AS", sizes);
  EXPECT_GT(good, 0);
  EXPECT_LT(good, static_cast<int>(sizes.size()));
}

TEST_F(CpuShortage, FewThreads) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root, to count the threads of another user";
  const int good = sweep("NPROC", {1, 2, 3, 4, 6, 64});
  EXPECT_GT(good, 0);
}

}  // namespace out_of_memory_test
}  // namespace tenon
