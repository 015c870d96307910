// SPDX-License-Identifier: Apache-2.0
// tenon npu-env: runs any program with the software NPU as its Level Zero driver.
#include <dlfcn.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <tenon/core/error.hpp>
#include <tenon/core/npu_platforms.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/environment.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/shared/output_file.hpp>
#include <tenon/tools/tenon/shared/software_npu.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLoaderFile = "libze_loader.so.1";
// The newest of the loader's functions that OpenVINO's NPU plugin requires; loaders before 1.10 lack it.
constexpr const char* kNewestNeeded = "zeCommandListHostSynchronize";

struct NpuEnvOptions {
  std::string platforms, driver, failures, trace, control, memory, refusals, api_version, numerics, pace;
  std::vector<std::string> words;  ///< The program and its arguments.
  bool print = false, as_hardware = false;
};

std::string find_driver(const std::string& wanted) {
  if (!wanted.empty() && !fs::exists(wanted))
    throw Error(Code::kNotFound, fmt::format("no driver at {}: --driver takes the file {}", wanted, kSoftwareNpu));
  const fs::path found = wanted.empty() ? find_library(kSoftwareNpu) : fs::canonical(wanted);
  if (found.empty())
    throw Error(Code::kUnavailable,
                fmt::format("the software NPU {} is not in {}: build it (./dev build), or name it with --driver",
                            kSoftwareNpu, library_folders().front().string()));
  load_library(found.string(), "the software NPU " + found.string(), "install the library that it names");
  return found.string();
}

/// The folder to search for a loader before the system's; empty if the system's is sufficient.
std::string find_shim() {
  void* loader = load_library(kLoaderFile, "the Level Zero loader", "install it (Debian: libze1)");
  if (dlsym(loader, kNewestNeeded)) return {};
  const fs::path shim = find_library(fs::path("loader_shim") / kLoaderFile);
  if (shim.empty())
    fmt::print(stderr,
               "tenon: {} here is older than 1.10: OpenVINO's NPU plugin will not use it (no {}). Other programs may; "
               "a build of Tenon with its tests makes a shim for it, newer systems need none.\n",
               kLoaderFile, kNewestNeeded);
  return shim.empty() ? std::string() : shim.parent_path().string();
}

void check_platforms(const std::string& platforms) {
  std::size_t begin = 0;
  do {
    const std::size_t end = platforms.find(',', begin);
    const std::string one = platforms.substr(begin, end == std::string::npos ? end : end - begin);
    std::uint32_t number = 0;
    const auto [last, error] = std::from_chars(one.data(), one.data() + one.size(), number);
    if (error != std::errc() || last != one.data() + one.size() || !find_npu_platform(number))
      throw Error(
          Code::kInvalidArgument,
          fmt::format("--platform {}: \"{}\" is no platform of the software NPU; it has 3720, 4000 and 5010, and a "
                      "comma list of them for several devices",
                      platforms, one));
    begin = end == std::string::npos ? end : end + 1;
  } while (begin != std::string::npos);
}

Environment environment_of(const NpuEnvOptions& options) {
  if (!options.platforms.empty()) check_platforms(options.platforms);
  Environment environment{{"ZE_ENABLE_ALT_DRIVERS", find_driver(options.driver)}};
  if (!options.platforms.empty()) environment.emplace_back("TENON_NPU_PLATFORM", options.platforms);
  if (!options.failures.empty()) environment.emplace_back("TENON_NPU_FAIL", options.failures);
  // The program may change its folder before it loads the driver.
  if (!options.trace.empty())
    environment.emplace_back("TENON_NPU_TRACE",
                             options.trace == "stderr" ? options.trace : fs::absolute(options.trace).string());
  if (!options.control.empty()) environment.emplace_back("TENON_NPU_CONTROL", fs::absolute(options.control).string());
  if (!options.refusals.empty()) {
    if (!fs::is_regular_file(options.refusals))
      throw Error(Code::kNotFound, fmt::format("--refuse {}: no such file: it lists operations that the NPU's compiler "
                                               "shall refuse, one a line",
                                               options.refusals));
    environment.emplace_back("TENON_NPU_REFUSE", fs::absolute(options.refusals).string());
  }
  if (!options.memory.empty()) environment.emplace_back("TENON_NPU_MEMORY", options.memory);
  if (!options.api_version.empty()) environment.emplace_back("TENON_NPU_API_VERSION", options.api_version);
  if (!options.numerics.empty()) environment.emplace_back("TENON_NPU_NUMERICS", options.numerics);
  if (!options.pace.empty()) environment.emplace_back("TENON_NPU_PACE", options.pace);
  if (options.as_hardware) environment.emplace_back("TENON_NPU_AS_HARDWARE", "1");
  if (const std::string folder = find_shim(); !folder.empty()) {
    const char* before = std::getenv("LD_LIBRARY_PATH");
    environment.emplace_back("LD_LIBRARY_PATH", before && *before ? folder + ":" + before : folder);
  }
  return environment;
}

void npu_env(const NpuEnvOptions& options) {
  CommandFiles files;
  files.add_input(options.refusals, "--refuse");
  files.add_input(options.driver, "--driver");
  if (!options.trace.empty() && options.trace != "stderr") files.add_output(options.trace, "--trace");
  if (options.print != options.words.empty())
    throw Error(Code::kInvalidArgument, options.print ? "--print takes no program: it only prints the environment"
                                                      : "npu-env needs a program to run: tenon npu-env -- CMD ARGS...");
  run_in(environment_of(options), options.words);
}

}  // namespace

void add_npu_env(CLI::App& app) {
  auto* command = app.add_subcommand("npu-env", "Run any program with the software NPU as its Level Zero driver");
  auto options = std::make_shared<NpuEnvOptions>();
  command->add_option("-p,--platform", options->platforms,
                      "Platform of the NPU: 4000 (default), 3720 or 5010; a comma list makes several devices");
  command->add_option("--driver", options->driver, "The driver's file; default: libze_tenon_npu.so of this build")
      ->type_name(kProgramFile);
  command->add_option(
      "--fail", options->failures,
      "Calls that shall fail, such as zeFenceCreate:2=ZE_RESULT_ERROR_DEVICE_LOST: NAME, NAME:N or NAME:N+ "
      "(names may end in *), =CODE, =slow(20ms), =lost or, of executions, =slow(3x) and =hang, with commas between "
      "them");
  command
      ->add_option("--control", options->control,
                   "A socket on which the program takes commands while it runs: status, fail RULES, lost, hang, reset, "
                   "recover, memory BYTES, clear; %p in its name is the process id")
      ->type_name(kSocket);
  command->add_option("--memory", options->memory, "Bytes of memory that the NPU has; default: the machine's");
  command
      ->add_option("--refuse", options->refusals,
                   "A file of operations that the NPU's compiler shall refuse, one a line: Softmax, MatMul f16")
      ->type_name(kSideFile);
  command
      ->add_option("--numerics", options->numerics,
                   "f16: every operation rounds to f16, as on silicon; f32 (default): as exact as the CPU")
      ->check(CLI::IsMember({"f32", "f16"}));
  command
      ->add_option("--pace", options->pace,
                   "An inference takes as long as estimated for the platform (1), or so many times as long (10)")
      ->check(CLI::Range(0.0, 1e6))
      ->check([](const std::string& text) {  // A range lets NaN through.
        return std::string(std::isnan(std::strtod(text.c_str(), nullptr)) ? "is not a number" : "");
      });
  command->add_option("--api-version", options->api_version,
                      "The version of Level Zero that the driver claims, 1.3 to 1.17; default: 1.13");
  command->add_flag("--as-hardware", options->as_hardware,
                    "Give names in words as hardware's driver does, and a memfd where a dma-buf cannot be had");
  command
      ->add_option("--trace", options->trace,
                   "Trace the program's calls and what the device executes: FILE.json (Chrome, Perfetto), FILE (lines) "
                   "or stderr; %p in a name is the process id")
      ->type_name(kOutputFile);
  command->add_flag("--print", options->print, "Print the environment for a shell's eval, and run nothing");
  // Everything from the first word that is not an option belongs to the program.
  command->add_option("program", options->words, "The program to run and its arguments, best after --");
  command->positionals_at_end();
  command->footer(
      "\nThe program finds one Level Zero driver, the software NPU; drivers of real hardware are hidden from it. It\n"
      "gets: ZE_ENABLE_ALT_DRIVERS, TENON_NPU_* of its options, and on systems whose Level Zero loader is "
      "too old for\n"
      "OpenVINO's NPU plugin, a shim in front of it on LD_LIBRARY_PATH. Its exit status is passed on.\n"
      "docs/guide/npu_without_an_npu.md has the details.\n"
      "\nExamples:\n"
      "  tenon npu-env -- python3 -c \"import openvino as ov; print(ov.Core().available_devices)\"\n"
      "  tenon npu-env --platform 3720 -- benchmark_app -m model.xml -d NPU\n"
      "  tenon npu-env --platform 4000,3720 -- tenon devices      two NPUs\n"
      "  tenon npu-env --trace calls.json -- ./my_program         which calls it makes, and when\n"
      "  tenon npu-env --platform 3720 --pace 1 -- ./my_program   as slow as that NPU would be\n"
      "  tenon npu-env --fail execution:3=ZE_RESULT_ERROR_DEVICE_LOST -- ./my_program     the third inference fails\n"
      "  eval \"$(tenon npu-env --print)\"                          for the rest of this shell\n");
  command->callback([options] { npu_env(*options); });
}

}  // namespace tenon::tool
