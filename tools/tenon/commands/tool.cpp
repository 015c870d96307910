// SPDX-License-Identifier: Apache-2.0
// Parses the command line, runs the chosen command, and turns every error into one short message and an exit status.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include <CLI/CLI.hpp>

#include <tenon/core/credentials.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/version.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>

namespace tenon::tool {
namespace {

constexpr const char* kExamples =
    "\nExamples:\n"
    "  tenon run clip.mp4 --model detector.onnx --device CPU --save out.mp4\n"
    "  tenon pipeline cameras.json    sources, models and sinks, connected by a file (tenon elements lists them)\n"
    "  tenon serve-frames clip.mp4 --socket frames.sock    decodes once, for tenon run ipc:frames.sock in other "
    "processes\n"
    "  tenon matrix                   which frameworks truly share memory on this machine\n"
    "  tenon route cpu ffmpeg         the way from one to the other, and why others are refused\n"
    "  tenon bench --model m.onnx --device CPU\n"
    "  tenon tune cameras.json        a faster file for this machine; tenon bench cameras.json --streams\n"
    "  tenon evaluate truth.json --model m.onnx --pictures folder   COCO's AP; with tracks HOTA, IDF1, MOTA\n"
    "  tenon query m.onnx             which operations a device runs, and why not others\n"
    "  tenon compile m.onnx --dump-graph graphs\n"
    "  tenon convert m.onnx m.xml --compress-to-fp16\n"
    "  tenon migrate src              what a project for OpenVINO or DL Streamer uses, and the lines to change\n"
    "  tenon npu-env -- benchmark_app -m m.xml -d NPU   any program on the software NPU\n"
    "  tenon va-env -- ffmpeg -hwaccel vaapi ...        any program on the software VA-API driver\n"
    "  tenon gpu-env -- benchmark_app -m m.xml -d GPU   any program on a software GPU\n"
    "  tenon COMMAND --help           all options of one command\n";

/// Statuses follow sysexits where one fits, so that scripts can tell a wrong call from a wrong input.
int status_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
    case Code::kFailedPrecondition:
    case Code::kDataLoss:
      return 65;
    case Code::kNotFound:
      return 66;
    case Code::kUnavailable:
    case Code::kUnimplemented:
      return 69;  // This machine or this release lacks it, as opposed to a failure.
    case Code::kPermissionDenied:
      return 77;
    default:
      return 70;
  }
}

}  // namespace

void add_commands(CLI::App& app) {
  add_run(app);
  add_pipeline(app);
  add_serve_frames(app);
  add_elements(app);
  add_bench(app);
  add_evaluate(app);
  add_tune(app);
  add_query(app);
  add_compile(app);
  add_convert(app);
  add_matrix(app);
  add_route(app);
  add_devices(app);
  add_verify(app);
  add_cache(app);
  add_npu_env(app);
  add_va_env(app);
  add_gpu_env(app);
  add_migrate(app);
}

int main(int argc, const char* const* argv) {
  CLI::App app{"Runs models on the memory of media and compute frameworks, and shows whether anything was copied.",
               "tenon"};
  app.require_subcommand(1);
  app.footer(kExamples);
  app.set_version_flag("--version", "tenon " TENON_VERSION);
  add_commands(app);
  const SignalCleanup cleanup;
  try {
    app.parse(argc, argv);
    // What is printed last may be in the buffer still.
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
    std::fprintf(stderr, "tenon: the output is not complete: %s\n", std::strerror(errno));
    return 70;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const Error& error) {
    std::fprintf(stderr, "tenon: %s\n", describe(error).c_str());
    return status_of(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tenon: %s\n", without_credentials(error.what()).c_str());
    return 70;
  }
}

}  // namespace tenon::tool
