// SPDX-License-Identifier: Apache-2.0
// Runs third-party programs on the driver, and makes the clips for them.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include <tenon/drivers/vaapi/testing/clips.hpp>

namespace tenon::va::test {

namespace fs = std::filesystem;

struct Outcome {
  int status = -1;
  std::string out;
};

/// Runs a shell command; its errors are part of the output.
inline Outcome run(const std::string& command) {
  Outcome outcome;
  FILE* pipe = ::popen(("exec 2>&1; " + command).c_str(), "r");
  if (!pipe) return outcome;
  std::array<char, 4096> part;
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe))
    outcome.out.append(part.data(), count);
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

inline bool has(const std::string& program) { return run("command -v " + program).status == 0; }

inline std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

/// Runs on the driver, with the stand-in if there is no render node, like `tenon va-env`.
inline std::string on_driver(const std::string& command) {
  const char* stand_in = std::getenv("TENON_RENDER_NODE");
  if (fs::exists("/dev/dri/renderD128") || !stand_in) return command;
  return "env LD_PRELOAD=" + quoted(stand_in) + " " + command;
}

inline fs::path clips() {
  const char* folder = std::getenv("TENON_VA_CLIPS");
  const fs::path made = folder ? fs::path(folder) : fs::temp_directory_path() / "tenon_va_clips";
  fs::create_directories(made);
  return made;
}

/// A moving picture with noise, so that every prediction has a residual.
inline fs::path make(const Clip& clip) {
  const fs::path file = clips() / clip.name;
  if (fs::exists(file)) return file;
  const fs::path part = clips() / ("part_" + std::to_string(::getpid()) + "_" + clip.name);
  if (clip.write) {
    std::ofstream(file, std::ios::binary) << clip.write();
    return file;
  }
  const Outcome made = run("ffmpeg -v error -y -f lavfi -i testsrc2=size=" + std::string(clip.size) +
                           ":rate=25,noise=alls=12:allf=t -frames:v " + std::to_string(clip.frames) + " -threads 1 " +
                           clip.arguments + " " + quoted(part));
  EXPECT_EQ(made.status, 0) << made.out;
  if (made.status == 0) fs::rename(part, file);
  return file;
}

/// One line per frame.
inline std::string frames_of(const fs::path& file, const std::string& before, const std::string& filters) {
  const Outcome done =
      run(before + " -i " + quoted(file) + " -an -vf " + filters + " -f framemd5 - 2>/dev/null | grep -v '^#'");
  return done.out;
}

/// ffmpeg that decodes on the driver. It fails if it cannot, because surfaces are requested.
inline std::string decoding(const Clip& clip) {
  return on_driver("ffmpeg -v error -hwaccel vaapi -hwaccel_output_format vaapi ") + clip.decoder;
}

/// GStreamer's va elements.
class VaGstreamer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has("gst-launch-1.0") || !has("gst-inspect-1.0")) GTEST_SKIP() << "GStreamer's tools are not installed";
    // Not the user's registry, which lists elements that were found before.
    ::setenv("GST_REGISTRY", (clips() / "gst_registry.bin").c_str(), 1);
    if (run(on_driver("gst-inspect-1.0 vah264dec")).status != 0)
      GTEST_SKIP() << "no vah264dec: gstreamer1.0-plugins-bad is not installed";
  }
  /// The bytes of all frames that a pipeline writes.
  static std::string frames(const std::string& pipeline) {
    const fs::path file = clips() / "gst_frames.yuv";
    fs::remove(file);
    const Outcome done =
        run(on_driver("timeout 60 gst-launch-1.0 -q " + pipeline + " ! filesink location=" + quoted(file)));
    EXPECT_EQ(done.status, 0) << done.out;
    return run("md5sum < " + quoted(file)).out;
  }
  /// The bytes that the last pipeline wrote.
  static std::string bytes() {
    std::ifstream file(clips() / "gst_frames.yuv", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

}  // namespace tenon::va::test
