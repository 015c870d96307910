// SPDX-License-Identifier: Apache-2.0
// GStreamer launch lines, if GStreamer is there: its part of the tool is a module, so that the tool starts without it.
#include <dlfcn.h>

#include <filesystem>

#include <tenon/core/error.hpp>

#include <tenon/tools/tenon/shared/software_npu.hpp>
#include <tenon/tools/tenon/sources/open_source.hpp>

namespace tenon::tool {
namespace {

// The first also knows VA surfaces, and so needs libva.
constexpr const char* kModules[] = {"libtenon_frames_gstreamer_va.so", "libtenon_frames_gstreamer.so"};

using Open = FrameSource* (*)(const SourceOptions&);

/// @errors kUnavailable: this build has no module, or a library of GStreamer's is missing.
Open load() {
  std::string why = "this build is without GStreamer (no " + std::string(kModules[1]) + ")";
  for (const char* name : kModules) {
    const std::filesystem::path module = find_library(name);
    if (module.empty()) continue;
    // Global, as frameworks' contexts are; and never closed, as GStreamer cannot be.
    void* const library = ::dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      const char* const reason = ::dlerror();
      why = reason ? reason : "the loader gives no reason";
      continue;
    }
    if (const auto open = reinterpret_cast<Open>(::dlsym(library, TENON_FRAMES_SYMBOL))) return open;
    why = module.string() + " is of another release";
  }
  throw Error(Code::kUnavailable, "GStreamer launch lines: " + why +
                                      "; Debian has GStreamer in libgstreamer1.0-0, gstreamer1.0-plugins-base and "
                                      "gstreamer1.0-plugins-good");
}

}  // namespace

bool is_launch_line(const std::string& input) {
  std::error_code none;
  return input.find('!') != std::string::npos && !std::filesystem::exists(input, none);
}

std::unique_ptr<FrameSource> open_launch_line(const SourceOptions& options) {
  if (!is_launch_line(options.input)) return nullptr;
  if (options.asks_a_camera())
    throw Error(Code::kInvalidArgument, "\"" + options.input +
                                            "\": --size, --fps and --format are asked of cameras; a launch line says "
                                            "so itself (video/x-raw,width=1280,height=720)");
  static const Open open = load();
  return std::unique_ptr<FrameSource>(open(options));
}

}  // namespace tenon::tool
