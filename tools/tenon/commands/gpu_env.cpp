// SPDX-License-Identifier: Apache-2.0
// tenon gpu-env: runs any program with Intel's OpenCL runtime for CPUs presented as one of Intel's GPUs.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <dlfcn.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <tenon/core/error.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/environment.hpp>
#include <tenon/tools/tenon/shared/software_npu.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLayer = "libtenon_gpu_layer.so";
constexpr const char* kRuntime = "libintelocl.so";
constexpr const char* kLoader = "libOpenCL.so.1";
constexpr const char* kInstall =
    "install it for the Python that the program uses (pip install intel-opencl-rt==2023.2.0 "
    "intel-cmplr-lib-rt==2023.2.0), "
    "or name its file with --runtime";

struct GpuEnvOptions {
  std::string runtime, name, memory;
  std::vector<std::string> words;  ///< The program and its arguments.
  bool print = false;
};

std::string from(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

/// The folder of a program as a shell would find it, its links unfollowed: python of a virtual environment is a link out of it.
fs::path folder_of(const std::string& program) {
  std::error_code none;
  if (program.find('/') != std::string::npos) return fs::absolute(program, none).parent_path();
  std::istringstream path(from("PATH"));
  for (std::string folder; std::getline(path, folder, ':');)
    if (fs::exists(fs::path(folder) / program, none)) return fs::absolute(folder, none);
  return {};
}

/// Where pip puts the runtime: beside the program's own environment, the active one, that of python3, and the user's.
std::vector<fs::path> runtime_folders(const std::vector<std::string>& words) {
  std::vector<fs::path> folders;
  const auto beside = [&folders](const std::string& program) {
    if (const fs::path folder = folder_of(program); !folder.empty()) folders.push_back(folder / ".." / "lib");
  };
  if (!words.empty()) beside(words[0]);
  if (const std::string active = from("VIRTUAL_ENV"); !active.empty()) folders.push_back(fs::path(active) / "lib");
  beside("python3");
  if (const std::string home = from("HOME"); !home.empty()) folders.push_back(fs::path(home) / ".local" / "lib");
  return folders;
}

fs::path find_runtime(const GpuEnvOptions& options) {
  std::error_code none;
  if (!options.runtime.empty()) {
    const fs::path wanted = options.runtime;
    const fs::path file = fs::is_directory(wanted, none) ? wanted / kRuntime : wanted;
    if (!fs::is_regular_file(file, none))
      throw Error(Code::kNotFound, fmt::format("no OpenCL runtime at {}: --runtime takes the file {} or its folder",
                                               options.runtime, kRuntime));
    return fs::absolute(file).lexically_normal();
  }
  std::string searched;
  for (const fs::path& folder : runtime_folders(options.words)) {
    const fs::path clean = folder.lexically_normal();
    if (fs::is_regular_file(clean / kRuntime, none)) return clean / kRuntime;
    searched += (searched.empty() ? "" : ", ") + clean.string();
  }
  throw Error(Code::kUnavailable,
              fmt::format("Intel's OpenCL runtime for CPUs ({}) is not in {}: {}", kRuntime, searched, kInstall));
}

fs::path find_layer() {
  const fs::path layer = find_library(kLayer);
  if (layer.empty())
    throw Error(Code::kUnavailable, fmt::format("{} is not in {}: build it (./dev build, with ocl-icd-opencl-dev)",
                                                kLayer, library_folders().front().string()));
  return layer;
}

/// Sets a variable unless the caller has.
void prefer(Environment& environment, const char* name, const std::string& value) {
  if (from(name).empty()) environment.emplace_back(name, value);
}

Environment environment_of(const GpuEnvOptions& options) {
  const fs::path layer = find_layer(), runtime = find_runtime(options);
  // It comes without a word where a library of another package is missing.
  load_library(runtime.string(), "Intel's OpenCL runtime " + runtime.string(),
               "install intel-cmplr-lib-rt, which has what it needs");
  // The two loaders there are: one takes a file by the first name, the other by the second.
  Environment environment{{"OCL_ICD_VENDORS", runtime.string()}, {"OCL_ICD_FILENAMES", runtime.string()}};
  const std::string layers = from("OPENCL_LAYERS");
  environment.emplace_back("OPENCL_LAYERS", layers.empty() ? layer.string() : layer.string() + ":" + layers);
  // A GPU's local memory: kernels that use all of it do not run in the runtime's 32 KiB.
  prefer(environment, "CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", "64KB");
#if defined(__x86_64__)  // The runtime is for these processors alone.
  // On CPUs of other makers the runtime's newest instructions compute nonsense. On Intel's newest (Sapphire Rapids and later) it makes
  // no image once it has taken a program's binary: "Requested image function for library that hasn't been loaded".
  __builtin_cpu_init();
  if (!__builtin_cpu_is("intel") && __builtin_cpu_supports("avx2"))
    prefer(environment, "CL_CONFIG_CPU_TARGET_ARCH", "core-avx2");
  else if (__builtin_cpu_supports("avx512bf16"))
    prefer(environment, "CL_CONFIG_CPU_TARGET_ARCH", "skx");
#endif
  if (!options.name.empty()) environment.emplace_back("TENON_GPU_NAME", options.name);
  if (!options.memory.empty()) environment.emplace_back("TENON_GPU_MEMORY", options.memory);
  // Where the system has no loader, the runtime's package has one.
  if (!dlopen(kLoader, RTLD_LAZY | RTLD_LOCAL)) {
    const fs::path folder = runtime.parent_path();
    std::error_code none;
    if (!fs::exists(folder / kLoader, none))
      throw Error(Code::kUnavailable,
                  fmt::format("there is no OpenCL loader here ({}): install it (Debian: ocl-icd-libopencl1)", kLoader));
    const std::string before = from("LD_LIBRARY_PATH");
    environment.emplace_back("LD_LIBRARY_PATH", before.empty() ? folder.string() : folder.string() + ":" + before);
  }
  return environment;
}

void gpu_env(const GpuEnvOptions& options) {
  if (options.print != options.words.empty())
    throw Error(Code::kInvalidArgument, options.print ? "--print takes no program: it only prints the environment"
                                                      : "gpu-env needs a program to run: tenon gpu-env -- CMD ARGS...");
  run_in(environment_of(options), options.words);
}

}  // namespace

void add_gpu_env(CLI::App& app) {
  auto* command = app.add_subcommand("gpu-env", "Run any program with a software GPU as its OpenCL device");
  auto options = std::make_shared<GpuEnvOptions>();
  command->add_option(
      "--runtime", options->runtime,
      "Intel's OpenCL runtime for CPUs: the file libintelocl.so or its folder; default: where pip puts it");
  command->add_option("--name", options->name, "The device's name; default: Intel(R) Iris(R) Xe Graphics (software)");
  command
      ->add_option("--memory", options->memory, "Bytes of memory that the device says it has; default: the machine's")
      ->check(CLI::PositiveNumber);
  command->add_flag("--print", options->print, "Print the environment for a shell's eval, and run nothing");
  // Everything from the first word that is not an option belongs to the program.
  command->add_option("program", options->words, "The program to run and its arguments, best after --");
  command->positionals_at_end();
  command->footer(
      "\nThe program finds one OpenCL device, which says that it is one of Intel's GPUs, and computes on the CPU by "
      "Intel's\n"
      "runtime. OpenVINO's own GPU plugin takes it. It gets: OCL_ICD_VENDORS, OCL_ICD_FILENAMES, OPENCL_LAYERS, "
      "CL_CONFIG_CPU_*,\n"
      "TENON_GPU_* of its options, and LD_LIBRARY_PATH where the system has no OpenCL loader. Its exit status is "
      "passed "
      "on.\n"
      "docs/guide/gpu_without_a_gpu.md has the details.\n"
      "\nExamples:\n"
      "  tenon gpu-env -- python3 -c \"import openvino as ov; print(ov.Core().available_devices)\"\n"
      "  tenon gpu-env -- benchmark_app -m model.xml -d GPU\n"
      "  tenon npu-env -- tenon gpu-env -- python3 app.py         CPU, GPU and NPU\n"
      "  eval \"$(tenon gpu-env --print)\"                          for the rest of this shell\n");
  command->callback([options] { gpu_env(*options); });
}

}  // namespace tenon::tool
