// SPDX-License-Identifier: Apache-2.0
// tenon va-env: runs any program with the software VA-API driver, also where there is no DRM render node.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <tenon/core/error.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/environment.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/shared/software_npu.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDriver = "va/tenon_drv_video.so";
constexpr const char* kStandIn = "va/libtenon_render_node.so";
constexpr const char* kRenderNode = "/dev/dri/renderD128";

struct VaEnvOptions {
  std::string driver;
  std::vector<std::string> words;  ///< The program and its arguments.
  bool print = false;
};

fs::path find_va_driver(const std::string& wanted) {
  std::error_code none;
  const fs::path found = wanted.empty() ? find_library(kDriver) : fs::canonical(wanted, none);
  if (found.empty() && !wanted.empty())
    throw Error(Code::kNotFound, fmt::format("no driver at {}: --driver takes a file NAME_drv_video.so", wanted));
  if (found.empty())
    throw Error(
        Code::kUnavailable,
        fmt::format("the software VA-API driver {} is not in {}: build it (./dev build, with libva-dev), or name "
                    "it with --driver",
                    kDriver, library_folders().front().string()));
  load_library(found.string(), "the VA-API driver " + found.string(), "install the library that it names");
  return found;
}

/// The folder and the name by which libva finds a driver: NAME_drv_video.so in a folder.
std::string driver_name(const fs::path& driver) {
  const std::string file = driver.filename().string();
  constexpr std::string_view kEnd = "_drv_video.so";
  if (file.size() <= kEnd.size() || !file.ends_with(kEnd))
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: libva only loads files whose names end in {}", driver.string(), kEnd));
  return file.substr(0, file.size() - kEnd.size());
}

Environment environment_of(const VaEnvOptions& options) {
  const fs::path driver = find_va_driver(options.driver);
  Environment environment{{"LIBVA_DRIVERS_PATH", driver.parent_path().string()},
                          {"LIBVA_DRIVER_NAME", driver_name(driver)},
                          {"GST_VA_ALL_DRIVERS", "1"}};  // Otherwise GStreamer accepts only a few drivers, by name.
  std::error_code none;
  if (fs::exists(kRenderNode, none)) return environment;
  const fs::path stand_in = find_library(kStandIn);
  if (stand_in.empty())
    throw Error(Code::kUnavailable,
                fmt::format("there is no {} here, and {}, which stands in for it, is not in {}: build it (./dev build)",
                            kRenderNode, kStandIn, library_folders().front().string()));
  const char* before = std::getenv("LD_PRELOAD");
  environment.emplace_back("LD_PRELOAD", before && *before ? stand_in.string() + ":" + before : stand_in.string());
  return environment;
}

void va_env(const VaEnvOptions& options) {
  if (options.print != options.words.empty())
    throw Error(Code::kInvalidArgument, options.print ? "--print takes no program: it only prints the environment"
                                                      : "va-env needs a program to run: tenon va-env -- CMD ARGS...");
  run_in(environment_of(options), options.words);
}

}  // namespace

void add_va_env(CLI::App& app) {
  auto* command = app.add_subcommand("va-env", "Run any program with the software VA-API driver");
  auto options = std::make_shared<VaEnvOptions>();
  command->add_option("--driver", options->driver, "The driver's file; default: tenon_drv_video.so of this build")
      ->type_name(kProgramFile);
  command->add_flag("--print", options->print, "Print the environment for a shell's eval, and run nothing");
  // Everything from the first word that is not an option belongs to the program.
  command->add_option("program", options->words, "The program to run and its arguments, best after --");
  command->positionals_at_end();
  command->footer(
      "\nThe program finds one VA-API driver, the software one, which decodes and processes on the CPU. It gets:\n"
      "LIBVA_DRIVERS_PATH, LIBVA_DRIVER_NAME, GST_VA_ALL_DRIVERS and, on machines without a DRM render node, "
      "LD_PRELOAD\n"
      "with a small library that stands in for one. Its exit status is passed on. docs/guide/va_without_a_gpu.md has "
      "the\n"
      "details.\n"
      "\nExamples:\n"
      "  tenon va-env -- vainfo --display drm\n"
      "  tenon va-env -- ffmpeg -hwaccel vaapi -hwaccel_output_format vaapi -i clip.mp4 -vf hwdownload,format=nv12 -f "
      "null -\n"
      "  tenon va-env -- gst-launch-1.0 filesrc location=clip.mp4 ! qtdemux ! h264parse ! vah264dec ! fakesink\n"
      "  eval \"$(tenon va-env --print)\"                          for the rest of this shell\n");
  command->callback([options] { va_env(*options); });
}

}  // namespace tenon::tool
