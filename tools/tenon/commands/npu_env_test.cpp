// SPDX-License-Identifier: Apache-2.0
// npu-env: the program's environment, its exit status, and the messages if something is missing. Whether real
// clients then find an NPU is tested in tests/npu_clients.
#include <dlfcn.h>

#include <tenon/tools/tenon/shared/software_npu.hpp>
#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace npu_env_test {

/// Any library will do if only the environment is checked: this is the one with this function of the C++ library.
std::string some_library() {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(&std::abort), &info) != 0 && info.dli_fname[0] == '/'
             ? fs::canonical(info.dli_fname).string()
             : std::string("/lib/x86_64-linux-gnu/libc.so.6");
}

class NpuEnv : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    if (!dlopen("libze_loader.so.1", RTLD_LAZY)) GTEST_SKIP() << "no Level Zero loader here";
  }
  Outcome npu_env(const std::string& arguments, const std::string& before = "") const {
    return tool("npu-env --driver '" + some_library() + "' " + arguments, before);
  }
};

TEST_F(NpuEnv, GivesTheProgramDriverAndPlatform) {
  const Outcome done = npu_env("--platform 4000,3720 -- sh -c 'echo $ZE_ENABLE_ALT_DRIVERS; echo $TENON_NPU_PLATFORM'");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, some_library() + "\n4000,3720\n");
}

TEST_F(NpuEnv, LeavesPlatformAndSearchPathOfTheCallerInPlace) {
  const Outcome done = npu_env("-- sh -c 'echo $TENON_NPU_PLATFORM; echo $LD_LIBRARY_PATH'",
                               "TENON_NPU_PLATFORM=3720 LD_LIBRARY_PATH=" + folder.string());
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(done.out.starts_with("3720\n")) << done.out;
  EXPECT_TRUE(done.out.ends_with(folder.string() + "\n")) << done.out;
}

TEST_F(NpuEnv, PassesFailuresAndTraceOn) {
  const Outcome done = npu_env(
      "--fail execution:2=ERROR_DEVICE_LOST --trace t.json -- sh -c 'echo $TENON_NPU_FAIL; echo "
      "$TENON_NPU_TRACE'");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, "execution:2=ERROR_DEVICE_LOST\n" + (fs::canonical(folder) / "t.json").string() + "\n");
  EXPECT_EQ(npu_env("--trace stderr -- sh -c 'echo $TENON_NPU_TRACE; echo ${TENON_NPU_FAIL-none}'").out,
            "stderr\nnone\n");
}

TEST_F(NpuEnv, PassesFaultsAndVersionsOn) {
  std::ofstream(folder / "refused.txt") << "Softmax\n";
  const std::string print =
      "sh -c 'echo $TENON_NPU_CONTROL; echo $TENON_NPU_REFUSE; echo $TENON_NPU_MEMORY $TENON_NPU_API_VERSION "
      "$TENON_NPU_NUMERICS $TENON_NPU_AS_HARDWARE'";
  const Outcome done = npu_env(
      "--control s.sock --memory 1000000 --refuse refused.txt --api-version 1.17 --numerics f16 --as-hardware -- " +
      print);
  ASSERT_EQ(done.status, 0) << done.err;
  const std::string here = fs::canonical(folder).string();
  EXPECT_EQ(done.out, here + "/s.sock\n" + here + "/refused.txt\n1000000 1.17 f16 1\n");
  EXPECT_NE(npu_env("--numerics f8 -- true").status, 0);
  const Outcome none = npu_env("--refuse missing.txt -- true");
  EXPECT_NE(none.status, 0);
  EXPECT_NE(none.err.find("missing.txt: no such file"), std::string::npos) << none.err;
}

TEST_F(NpuEnv, HandsOverEveryWordAsItIs) {
  const std::string expected = "<a b>\n<-x>\n<-->\n<--print>\n<$HOME>\n";
  EXPECT_EQ(npu_env("-- printf '<%s>\\n' 'a b' -x -- --print '$HOME'").out, expected);
  EXPECT_EQ(npu_env("printf '<%s>\\n' 'a b' -x -- --print '$HOME'").out, expected) << "without --";
  EXPECT_EQ(npu_env("-- printf devices").out, "devices") << "a word that is also a command of the tool";
}

TEST_F(NpuEnv, PassesTheStatusOn) {
  EXPECT_EQ(npu_env("-- sh -c 'exit 0'").status, 0);
  EXPECT_EQ(npu_env("-- sh -c 'exit 7'").status, 7);
  EXPECT_EQ(npu_env("-- sh -c 'kill -TERM $$'").status, 128 + 15);
}

TEST_F(NpuEnv, SaysThatAProgramCannotBeRunAsShellsDo) {
  const Outcome none = npu_env("-- no-such-program");
  EXPECT_EQ(none.status, 127);
  expect_one_message(none, "no-such-program cannot be run: No such file");
  write("plain", "text");
  EXPECT_EQ(npu_env("-- ./plain").status, 126);
}

TEST_F(NpuEnv, PrintsWhatAShellEvaluates) {
  const Outcome done = npu_env("--platform 3720 --print");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("export ZE_ENABLE_ALT_DRIVERS='" + some_library() + "'\n"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("export TENON_NPU_PLATFORM='3720'\n"), std::string::npos) << done.out;
  // Names may contain anything: a folder with a quote and a blank in it passes through a shell unchanged.
  const fs::path driver = folder / "it's a driver.so";
  fs::copy_file(some_library(), driver);
  const Outcome evaluated = tool("npu-env --driver \"" + driver.string() +
                                 "\" --print >print.sh && . ./print.sh && printf %s \"$ZE_ENABLE_ALT_DRIVERS\"");
  EXPECT_EQ(evaluated.out, driver.string()) << evaluated.err;
}

TEST_F(NpuEnv, RefusesWithOneMessage) {
  expect_one_message(npu_env("--platform 5000 -- true"), "3720, 4000 and 5010");
  expect_one_message(npu_env("--platform 4000, -- true"), "\"\" is no platform");
  expect_one_message(npu_env(""), "needs a program");
  expect_one_message(npu_env("--print -- true"), "takes no program");
  expect_one_message(npu_env("--platfrom 4000 -- true"), "--platfrom");
  expect_one_message(npu_env("--pace nan -- true"), "is not a number");
  expect_one_message(tool("npu-env --driver none.so -- true"), "no driver at none.so");
  write("text.so", "not a library");
  expect_one_message(tool("npu-env --driver text.so -- true"), "cannot be loaded");
}

TEST_F(NpuEnv, SaysWhereItLookedForTheDriver) {
  fs::create_directories(folder / "bin");
  fs::copy_file(from_environment("TENON_TOOL"), folder / "bin/tenon");
  const std::string libraries = find_library("libtenon_core.so").parent_path().string();
  expect_one_message(tool("--version; LD_LIBRARY_PATH='" + libraries + "' bin/tenon npu-env -- true"),
                     (fs::canonical(folder) / "lib").string());
}

TEST_F(NpuEnv, SaysThatTheLoaderCannotBeLoaded) {
  write("libze_loader.so.1", "no loader");
  const Outcome done = npu_env("-- true", "LD_LIBRARY_PATH='" + folder.string() + "'");
  expect_one_message(done, "libze_loader.so.1");
}

TEST_F(NpuEnv, HelpTeaches) {
  const Outcome help = tool("npu-env --help");
  EXPECT_EQ(help.status, 0);
  for (const char* part :
       {"--platform", "--driver", "--print", "--fail", "--trace", "eval", "python3", "benchmark_app", "exit status"})
    EXPECT_NE(help.out.find(part), std::string::npos) << part << "\n" << help.out;
}

}  // namespace npu_env_test
}  // namespace tenon::tool::testing
