// SPDX-License-Identifier: Apache-2.0
// tenon serve-frames: reads or decodes an input once, and hands its frames to other processes, where they lie.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <tenon/core/error.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/frame_source.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>

namespace tenon::tool {
namespace {

using std::chrono::milliseconds;

struct ServeOptions {
  SourceOptions source;
  std::string socket, when_slow = "auto";
  std::uint64_t frames = 0, subscribers = 1, held = 16, patience_ms = 2000;
  bool loop = false, realtime = false, other_users = false, quiet = false;
};

/// @errors kUnavailable: this build has no frameworks/ipc.
void check_elements() {
  try {
    (void)elements::find_element("ipc_sink");
  } catch (const Error&) {
    throw Error(
        Code::kUnavailable,
        "serve-frames needs the module libtenon_elements_ipc.so, which this build does not have (TENON_WITH_IPC)");
  }
}

elements::PipelineSpec spec_of(const ServeOptions& options) {
  elements::NodeSpec source = source_node(options.source);
  const bool is_file = source.element == "file";
  if (!is_file && (options.loop || options.realtime))
    throw Error(Code::kInvalidArgument,
                "\"" + options.source.input +
                    "\": --loop and --realtime are for files; this input has a pace and an end of its own");
  if (is_file) {
    source.parameters["loop"] = options.loop ? "true" : "false";
    source.parameters["realtime"] = options.realtime ? "true" : "false";
  }
  elements::PipelineSpec spec{{source,
                               {"ipc_sink",
                                "",
                                {{"socket", options.socket},
                                 {"when_slow", options.when_slow},
                                 {"subscribers", std::to_string(options.subscribers)},
                                 {"held", std::to_string(options.held)},
                                 {"patience_ms", std::to_string(options.patience_ms)},
                                 {"other_users", options.other_users ? "true" : "false"}}}}};
  spec.frames = options.frames;
  return spec;
}

void serve(const ServeOptions& options) {
  ffmpeg::silence_log();  // Tenon reports the errors itself.
  check_elements();
  elements::Pipeline pipeline(spec_of(options));
  const Interrupt interrupt;
  if (!options.quiet)
    fmt::print(stderr, "tenon: {} is served at {}; read it with tenon run ipc:{}\n", options.source.input,
               options.socket, options.socket);
  const auto begin = Clock::now();
  pipeline.start();
  while (!pipeline.wait(Clock::now() + milliseconds(100)) && !Interrupt::requested()) {
  }
  pipeline.stop(Clock::now() + std::chrono::seconds(2));
  const elements::NodeStats sink = pipeline.stats().back();
  if (!options.quiet)
    fmt::print("{} frames in {:.1f} s, {} bytes copied\n", sink.frames_in,
               std::chrono::duration<double>(Clock::now() - begin).count(), sink.moved.copied);
  for (const elements::Failure& failure : pipeline.failures())
    if (failure.error) std::rethrow_exception(failure.error);
  if (Interrupt::requested()) throw CLI::RuntimeError(Interrupt::status());
}

}  // namespace

void add_serve_frames(CLI::App& app) {
  auto* command = app.add_subcommand(
      "serve-frames", "Read or decode an input once, and hand its frames to other processes without a copy");
  auto options = std::make_shared<ServeOptions>();
  command->add_option("input", options->source.input, "As for tenon run: a file, a URL, a camera, a GStreamer line")
      ->type_name(kMediaFile)
      ->required();
  command->add_option("--socket", options->socket, "Where to listen: the path of a Unix socket, which is made")
      ->type_name(kSocket)
      ->required();
  command->add_option("--subscribers", options->subscribers, "Processes to wait for before the first frame")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      ->add_option(
          "--when-slow", options->when_slow,
          "Where a process holds as many frames as it may: wait for it; skip: leave it out; auto: wait, unless the "
          "input is live")
      ->check(CLI::IsMember({"auto", "wait", "skip"}))
      ->capture_default_str();
  command->add_option("--held", options->held, "Frames that one process may hold at a time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      ->add_option(
          "--patience", options->patience_ms,
          "How long a process may hold a frame, in milliseconds; then it is disconnected, and the frame is used again")
      ->check(CLI::Range(1, 3600000))
      ->capture_default_str();
  command->add_option("--max-frames,--frames", options->frames, "Maximum number of frames; 0: all");
  command->add_flag("--loop", options->loop, "Start again from the beginning at the end of a file");
  command->add_flag("--realtime", options->realtime, "Give a file's frames at the pace of their timestamps");
  command->add_flag("--other-users", options->other_users,
                    "Also serve processes of other users, if the rights of the socket let them");
  command->add_flag("-q,--quiet", options->quiet, "Print nothing but errors");
  command->callback([options] { serve(*options); });
}

}  // namespace tenon::tool
