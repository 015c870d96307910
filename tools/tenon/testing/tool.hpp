// SPDX-License-Identifier: Apache-2.0
// For tests of the tool: runs the built binary as a user does, and makes small inputs.
#pragma once

#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <tenon/frameworks/ffmpeg/testing/clip.hpp>
#include <tenon/tools/tenon/commands/commands.hpp>

namespace tenon::tool::testing {

namespace fs = std::filesystem;

inline std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value) throw std::runtime_error(std::string(name) + " is not set: run the test through ctest");
  return value;
}
inline std::string model(const std::string& file) { return from_environment("TENON_SOURCE_DIR") + "/models/" + file; }

inline std::string text_of(const fs::path& path) {
  std::ostringstream
      text;  // At once: letter by letter, a model of 4 MB takes 50 ms in a program that is not optimised.
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct Outcome {
  int status = -1;  ///< 128 + signal when one ended it.
  std::string out, err;
};

/// A shell's line in a process group of its own. Where it does not end in time, stderr gets the stacks of the group's processes, if gdb is
/// installed, and all of them are killed.
/// @return As waitpid() gives it.
inline int run_in_time(const std::string& line, std::chrono::seconds time = std::chrono::seconds(300)) {
  const pid_t group = ::fork();
  if (group == 0) {
    ::setpgid(0, 0);
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  int status = -1;
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(2)))
    if (::waitpid(group, &status, WNOHANG) != 0) return status;
  ADD_FAILURE() << "not ended within " << time.count() << " s: " << line;
  const std::string stacks = "for process in $(pgrep -g " + std::to_string(group) +
                             "); do timeout 60 gdb -p $process -batch -ex 'thread apply all backtrace 30' 2>&1; done | "
                             "grep -E '^(Thread|#)' >&2";
  static_cast<void>(std::system(stacks.c_str()));
  ::kill(-group, SIGKILL);
  ::waitpid(group, &status, 0);
  return status;
}

/// A folder of its own for each test, and the tool run in it.
class ToolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tenon_tool_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::permissions(folder, fs::perms::owner_all, ignored);
    fs::remove_all(folder, ignored);
  }

  std::string file(const std::string& name) const { return (folder / name).string(); }

  /// `arguments` as a shell takes them. The output streams go to another folder, so that `folder` holds only files that
  /// the tool left.
  Outcome tool(const std::string& arguments, const std::string& before = "") const {
    const std::string base = folder.string() + ".log";
    const std::string line = "cd '" + folder.string() + "' && " + before + " '" + from_environment("TENON_TOOL") +
                             "' " + arguments + " >'" + base + ".out' 2>'" + base + ".err' </dev/null";
    const int status = run_in_time(line);
    Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text_of(base + ".out"),
                    text_of(base + ".err")};
    fs::remove(base + ".out");
    fs::remove(base + ".err");
    return outcome;
  }
  /// As tool(), in this process, for calls by the dozen: a start loads 150 libraries, which takes a tenth of a second.
  /// @param arguments  With a space between each, and none in them.
  Outcome here(const std::string& arguments) const {
    std::istringstream words("tenon " + arguments);
    const std::vector<std::string> each{std::istream_iterator<std::string>(words), {}};
    std::vector<const char*> argv;
    for (const std::string& word : each) argv.push_back(word.c_str());
    const fs::path before = fs::current_path();
    fs::current_path(folder);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    Outcome outcome;
    outcome.status = tool::main(static_cast<int>(argv.size()), argv.data());
    outcome.err = ::testing::internal::GetCapturedStderr();
    outcome.out = ::testing::internal::GetCapturedStdout();
    fs::current_path(before);
    return outcome;
  }
  Outcome run_demo(const std::string& arguments, const std::string& before = "") const {
    return tool("run '" + model("demo.mp4") + "' --model '" + model("demo.onnx") + "' " + arguments, before);
  }

  /// The names in the folder, hidden files too.
  std::vector<std::string> left_behind() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  void write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << bytes;
  }

  /// A clip of moving gradients. @param name  Its extension chooses the container.
  void write_clip(const std::string& name, int width, int height, int frames, const std::string& codec = "libx264",
                  AVPixelFormat format = AV_PIX_FMT_YUV420P) const {
    tenon_test::ClipSpec spec;
    spec.width = width;
    spec.height = height;
    spec.frames = frames;
    spec.codec = codec;
    spec.format = format;
    tenon_test::make_clip(file(name), spec);
  }

  fs::path folder;
};

/// Expects one message (for an unknown operation it lists those that are known) and no crash.
inline void expect_one_message(const Outcome& outcome, const std::string& part) {
  EXPECT_NE(outcome.status, 0) << outcome.out;
  EXPECT_LT(outcome.status, 128) << "died of a signal";
  EXPECT_NE(outcome.err.find(part), std::string::npos) << "expected \"" << part << "\" in: " << outcome.err;
  EXPECT_LT(outcome.err.size(), 2500u) << outcome.err;
  EXPECT_EQ(outcome.err.find("terminate"), std::string::npos) << outcome.err;
}

/// The part of the wire format of protocol buffers that small ONNX files need.
namespace proto {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value % 128 + 128);
  return bytes + static_cast<char>(value);
}
inline std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
inline std::string bytes(int field, const std::string& value) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(value.size()) + value;
}
inline std::string value_info(const std::string& name, const std::vector<std::uint64_t>& dims) {
  std::string shape;
  for (const std::uint64_t dim : dims) shape += bytes(1, number(1, dim));
  return bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, shape)));
}
/// One operation from x to y, f32.
inline std::string onnx_model(const std::string& operation, const std::vector<std::uint64_t>& dims) {
  const std::string graph = bytes(1, bytes(1, "x") + bytes(2, "y") + bytes(3, "the_node") + bytes(4, operation)) +
                            bytes(2, "graph") + bytes(11, value_info("x", dims)) + bytes(12, value_info("y", dims));
  return number(1, 8) + bytes(7, graph) + bytes(8, bytes(1, "") + number(2, 17));
}
inline std::string tensor(const std::string& name, const std::vector<float>& values) {
  return number(1, values.size()) + number(2, 1) + bytes(8, name) +
         bytes(9, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

}  // namespace proto
}  // namespace tenon::tool::testing
