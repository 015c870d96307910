// SPDX-License-Identifier: Apache-2.0
// The output files of commands: they never replace an input, by whatever name; a signal leaves no half-written file; a pipe
// is not taken for a file.
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <unistd.h>
#include <csignal>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace output_file_test {

/// A call that names one file twice, once to read and once to write.
struct Overwrite {
  const char* name;
  std::string arguments;  ///< {v} the video, {m} the model, {x} and {b} an IR and its weights; {T} stands for the link.
  const char* target;     ///< The file that would be lost.
};

class Overwrites : public ToolTest, public ::testing::WithParamInterface<Overwrite> {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    fs::copy_file(model("demo.onnx"), file("m.onnx"));
    ASSERT_EQ(tool("convert m.onnx v.xml").status, 0);
    write_clip("a.mp4", 320, 240, 4);
    write("truth.json",
          R"({"video": {"width": 320, "height": 240, "fps": 25, "frames": 1}, "labels": [], "frames": []})");
    write("suite/relu/model.onnx", proto::onnx_model("Relu", {3}));
    write("suite/relu/test_data_set_0/input_0.pb", proto::tensor("x", {-1, 0, 2}));
    write("suite/relu/test_data_set_0/output_0.pb", proto::tensor("y", {0, 0, 2}));
  }

  void expect_refused(const std::string& by_name) {
    const std::string target = GetParam().target;
    const std::string before = text_of(file(target));
    std::vector<std::string> files = left_behind();
    std::string arguments = GetParam().arguments;
    for (auto at = arguments.find("{T}"); at != arguments.npos; at = arguments.find("{T}"))
      arguments.replace(at, 3, by_name);
    const Outcome done = tool(arguments);
    expect_one_message(done, "one file");
    EXPECT_NE(done.err.find(by_name), std::string::npos) << done.err;
    EXPECT_EQ(done.status, 65) << done.err;
    EXPECT_TRUE(text_of(file(target)) == before) << target << " was changed by way of " << by_name;
    EXPECT_EQ(left_behind(), files);
  }
};

TEST_P(Overwrites, AreRefusedByName) { expect_refused(GetParam().target); }

TEST_P(Overwrites, AreRefusedByAnotherSpelling) {
  fs::create_directory(folder / "sub");
  expect_refused(std::string("sub/../") + GetParam().target);
}

TEST_P(Overwrites, AreRefusedThroughASymbolicLink) {
  // The link keeps the extension: it chooses the container, or IR's names.
  const std::string link = "symbolic" + fs::path(GetParam().target).extension().string();
  fs::create_symlink(GetParam().target, folder / link);
  expect_refused(link);
}

TEST_P(Overwrites, AreRefusedThroughAHardLink) {
  const std::string link = "hard" + fs::path(GetParam().target).extension().string();
  fs::create_hard_link(folder / GetParam().target, folder / link);
  expect_refused(link);
}

INSTANTIATE_TEST_SUITE_P(
    EachCommand, Overwrites,
    ::testing::Values(
        Overwrite{"RunSavesOnTheVideo", "run a.mp4 -m m.onnx -q --no-compare --save {T}", "a.mp4"},
        Overwrite{"RunSavesOnTheVideoByUrl", "run file:a.mp4 -m m.onnx -q --no-compare --save {T}", "a.mp4"},
        Overwrite{"RunReportsOnTheModel", "run a.mp4 -m m.onnx -q --no-compare --report {T}", "m.onnx"},
        Overwrite{"RunReportsOnTheWeights", "run a.mp4 -m v.xml -q --no-compare --report {T}", "v.bin"},
        Overwrite{"RunReportsOnTheTruth", "run a.mp4 -m m.onnx -q --no-compare --ground-truth truth.json --report {T}",
                  "truth.json"},
        Overwrite{"RunShotsTheModel", "run a.mp4 -m m.onnx -q --no-compare --snapshot {T}", "m.onnx"},
        Overwrite{"RunTracesTheVideo", "run a.mp4 -m m.onnx -q --no-compare --trace {T}", "a.mp4"},
        Overwrite{"CompileOnTheModel", "compile m.onnx -o {T}", "m.onnx"},
        Overwrite{"CompileOnTheWeights", "compile v.xml -o {T}", "v.bin"},
        Overwrite{"BenchTracesTheModel", "bench -m m.onnx --seconds 0.1 --trace {T}", "m.onnx"},
        Overwrite{"ConvertOnTheModel", "convert v.xml {T}", "v.xml"},
        Overwrite{"VerifyReportsOnTheTest", "verify suite --json {T}", "suite/relu/model.onnx"}),
    [](const auto& info) { return info.param.name; });

class Files : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    fs::copy_file(model("demo.onnx"), file("m.onnx"));
  }
  /// Runs the tool and sends it `signal` when `ready` appears in the folder. @return 128 + signal or its status
  int interrupted(const std::vector<std::string>& arguments, int signal, const std::string& ready) {
    std::vector<std::string> words{from_environment("TENON_TOOL")};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const pid_t child = ::fork();
    if (child == 0) {
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      const int nowhere = ::open("/dev/null", O_RDWR);
      for (int fd = 0; fd < 3; ++fd) ::dup2(nowhere, fd);
      if (::chdir(folder.c_str()) == 0) ::execv(argv[0], argv.data());
      ::_exit(99);
    }
    if (child < 0)
      throw std::system_error(errno, std::generic_category(), "fork");  // A signal to -1 reaches all processes.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    bool seen = false;
    while (!seen && std::chrono::steady_clock::now() < until) {
      for (const std::string& name : left_behind()) seen = seen || name.find(ready) != std::string::npos;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_TRUE(seen) << "nothing like " << ready;
    ::kill(child, signal);
    int status = 0;
    for (int waited = 0; ::waitpid(child, &status, WNOHANG) == 0; ++waited) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (waited == 1500) ::kill(child, SIGKILL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
};

TEST_F(Files, TwoOutputsOfOneNameAreRefused) {
  write_clip("a.mp4", 320, 240, 4);
  expect_one_message(tool("run a.mp4 -m m.onnx --report r.json --trace ./r.json"), "one file");
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"a.mp4", "m.onnx"}));
}

TEST_F(Files, NoDeviceOrPipeBecomesAFile) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  expect_one_message(tool("compile m.onnx -o pipe"), "pipe");
  EXPECT_EQ(fs::status(folder / "pipe").type(), fs::file_type::fifo);
}

TEST_F(Files, APipeIsNoModel) {
  ASSERT_EQ(::mkfifo(file("pipe.onnx").c_str(), 0600), 0);
  fs::create_symlink(model("demo.mp4"), folder / "v.mp4");
  for (const char* call : {"run v.mp4 -m pipe.onnx", "bench -m pipe.onnx", "compile pipe.onnx -o out"}) {
    SCOPED_TRACE(call);
    const auto begin = std::chrono::steady_clock::now();
    const Outcome done = tool(call, "timeout 60");
    expect_one_message(done, "pipe.onnx");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50)) << "it waited for a writer";
    EXPECT_NE(done.status, 124) << "and would have waited for ever";
  }
}

TEST_F(Files, ATestThatLinksToItselfIsNotTheEndOfAllTests) {
  write("suite/relu/model.onnx", proto::onnx_model("Relu", {3}));
  write("suite/relu/test_data_set_0/input_0.pb", proto::tensor("x", {-1, 0, 2}));
  write("suite/relu/test_data_set_0/output_0.pb", proto::tensor("y", {0, 0, 2}));
  fs::create_symlink("loop", folder / "suite" / "loop");
  fs::create_directories(folder / "suite" / "looped");
  fs::create_symlink("model.onnx", folder / "suite" / "looped" / "model.onnx");
  const Outcome done = tool("verify suite");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("1 passed"), std::string::npos) << done.out;
}

TEST_F(Files, ASignalBeforeTheWorkBeginsLeavesNothingToo) {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGQUIT}) {
    // The temporary file is there before the model is read, when nothing listens for Ctrl-C yet.
    const int status = interrupted({"bench", "-m", "m.onnx", "--seconds", "60", "--trace", "t.json"}, signal, ".part");
    EXPECT_EQ(status, 128 + signal);
    EXPECT_EQ(left_behind(), std::vector<std::string>{"m.onnx"}) << signal;
  }
}

TEST_F(Files, WhatAKilledCommandLeftGoesWithTheNext) {
  EXPECT_EQ(interrupted({"bench", "-m", "m.onnx", "--seconds", "60", "--trace", "t.json"}, SIGKILL, ".part"),
            128 + SIGKILL);
  EXPECT_EQ(left_behind().size(), 2u) << "no code can clean up after that signal";
  EXPECT_EQ(tool("bench -m m.onnx --seconds 0.1 --trace t.json").status, 0);
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"m.onnx", "t.json"}));
}

TEST_F(Files, HangUpEndsARunLikeCtrlC) {
  fs::create_symlink(model("demo.mp4"), folder / "v.mp4");
  int status = 0;
  for (int i = 0; i < 5 && status == 0;
       ++i) {  // On a busy machine the run may end before the signal comes: then once more.
    fs::remove(folder / "out.mp4");
    // The video's temporary file comes last before frames run.
    status = interrupted({"run", "v.mp4", "-m", "m.onnx", "--save", "out.mp4", "-q"}, SIGHUP, "out.mp4.");
  }
  EXPECT_EQ(status, 128 + SIGHUP);
  for (const std::string& name : left_behind()) EXPECT_EQ(name.find(".part"), std::string::npos) << name;
}

}  // namespace output_file_test
}  // namespace tenon::tool::testing
