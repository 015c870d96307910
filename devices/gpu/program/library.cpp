// SPDX-License-Identifier: Apache-2.0
// Building programs, and keeping their binaries.
#include <tenon/devices/gpu/program/library.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/program/kept_bytes.hpp>
#include <tenon/devices/gpu/program/parallel.hpp>
#include <tenon/devices/gpu/program/types.hpp>
#include <tenon/devices/gpu/program/warpgroups.hpp>
#include <tenon/graph/wanted.hpp>
#include <tenon/store/release.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Few enough that a plan for other shapes builds only what is new.
constexpr std::size_t kMostInProgram = 8;

[[noreturn]] void damaged(const std::string& what) {
  throw Error(Code::kDataLoss, "GPU: the entry of the program cache is damaged: " + what);
}
const KeptKind& kept_programs() {
  static const KeptKind kind{
      .rules = {.suffix = ".cl_cache", .entry_mode = 0600, .is_private = true},
      .format = {.magic = "TENONGPU", .version = 1, .minor = 0, .damaged = &damaged},
      .folder_bytes = std::uint64_t{1} << 30,
  };
  return kind;
}

std::string build_log(cl_program program, cl_device_id device) {
  std::size_t size = 0;
  const auto ask = [&](std::size_t bytes, void* to, std::size_t* needed) {
    return client::call(clGetProgramBuildInfo, program, device, cl_program_build_info{CL_PROGRAM_BUILD_LOG}, bytes, to,
                        needed) == CL_SUCCESS;
  };
  if (!ask(0, nullptr, &size) || size < 2) return "the driver gives no log";
  std::string log(size, '\0');
  if (!ask(size, log.data(), nullptr)) return "the driver gives no log";
  log.resize(std::min<std::size_t>(log.find('\0'), 4000));
  return log;
}

cl_int build_for(cl_program program, cl_device_id device, const std::string& options) {
  return client::call(clBuildProgram, program, cl_uint{1}, &device, options.c_str(),
                      static_cast<void(CL_CALLBACK*)(cl_program, void*)>(nullptr), static_cast<void*>(nullptr));
}

std::string binary_of(cl_program program) {
  std::size_t size = 0;
  client::check(client::call(clGetProgramInfo, program, cl_program_info{CL_PROGRAM_BINARY_SIZES}, sizeof size,
                             static_cast<void*>(&size), static_cast<std::size_t*>(nullptr)),
                "clGetProgramInfo", "asking for a program's binary");
  std::string binary(size, '\0');
  char* data = binary.data();
  client::check(client::call(clGetProgramInfo, program, cl_program_info{CL_PROGRAM_BINARIES}, sizeof data,
                             static_cast<void*>(&data), static_cast<std::size_t*>(nullptr)),
                "clGetProgramInfo", "asking for a program's binary");
  return binary;
}

}  // namespace

client::Handle<cl_kernel> Program::make(const KernelText& text) const {
  return client::Handle<cl_kernel>(client::create(
      "clCreateKernel", [&] { return "making the kernel " + text.name; }, clCreateKernel, program_.get(),
      text.name.c_str()));
}

client::Handle<cl_kernel> IdleKernels::take(const KernelText& text) {
  const std::lock_guard lock(mutex_);
  const auto idle = by_name_.find(text.name);
  if (idle == by_name_.end() || idle->second.empty()) return {};
  client::Handle<cl_kernel> kernel = std::move(idle->second.back());
  idle->second.pop_back();
  return kernel;
}

void IdleKernels::give_back(const KernelText& text, client::Handle<cl_kernel> kernel) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    auto& idle = by_name_[text.name];
    if (idle.size() < kMostOfOne) idle.push_back(std::move(kernel));
  } catch (...) {  // No memory to keep it: it goes.
  }
}

void Program::bring(const Twin& twin) const {
  std::call_once(twin_once_, [&] {
    const TraceSpan span("compile by the twin", "gpu");
    try {
      twin_module_ = twin.load(binary_of(program_.get()));
    } catch (const Error&) {  // OpenCL runs it.
    }
    was_brought_.store(true, std::memory_order_release);
  });
}

TwinFunction Program::twin_function(const Twin& twin, const KernelText& text, std::size_t local_bytes) const try {
  bring(twin);
  return twin_module_ ? twin_module_->find(text.name, local_bytes) : nullptr;
} catch (const Error&) {
  return nullptr;
}

void KernelLibrary::bring(const Twin& twin, const std::vector<std::shared_ptr<const Program>>& programs,
                          std::int32_t most_threads) {
  std::set<const Program*> unknown;
  for (const auto& program : programs)
    if (!program->was_brought()) unknown.insert(program.get());
  const std::vector<const Program*> all(unknown.begin(), unknown.end());
  run_parallel(all.size(), most_threads, [&](std::size_t i) { all[i]->bring(twin); });
}

KernelLibrary::KernelLibrary(Ref<client::Native> native) : native_(std::move(native)) {
  const auto& device = native_->device;
  options_ = device.version >= 20 ? "-cl-std=CL2.0" : "-cl-std=CL1.2";
  if (device.version >= 30) options_ = "-cl-std=CL3.0";
  // Compilers built on clang count their warnings on standard error, which is the program's.
  options_ += " -w";
  // A quotient that is rounded afterwards, as in quantization, else differs from the CPU's by a whole step.
  const auto arithmetic =
      client::info<cl_device_fp_config>(clGetDeviceInfo, "clGetDeviceInfo", device.id, CL_DEVICE_SINGLE_FP_CONFIG);
  if (arithmetic & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) options_ += " -cl-fp32-correctly-rounded-divide-sqrt";
  device_key_ = device.platform_name + '\n' + device.name + '\n' +
                client::info_text(clGetDeviceInfo, "clGetDeviceInfo", device.id, CL_DRIVER_VERSION) + '\n' +
                client::info_text(clGetDeviceInfo, "clGetDeviceInfo", device.id, CL_DEVICE_VERSION);
}

store::ContentHash KernelLibrary::key_of(const std::string& source) const {
  store::ContentHasher hasher;
  hasher.add(std::string_view(store::release()));
  hasher.add(device_key_);
  hasher.add(options_);
  hasher.add(source);
  return hasher.result();
}

client::Handle<cl_program> KernelLibrary::load(const store::ContentHash& key, const std::filesystem::path& folder) const
    try {
  const KeptBytes kept = read_kept(folder, kept_programs(), key);
  if (kept.bytes.empty()) return {};
  return from_binary(reinterpret_cast<const unsigned char*>(kept.bytes.data()), kept.bytes.size());
} catch (const Error&) {  // Damaged, or another release's: as if it were not there.
  return {};
}

client::Handle<cl_program> KernelLibrary::from_binary(const unsigned char* binary, std::size_t size) const try {
  cl_int binary_status = CL_SUCCESS;
  const cl_device_id device = native_->device.id;
  const char* const what = "taking a program's binary";
  client::Handle<cl_program> program(client::create("clCreateProgramWithBinary", what, clCreateProgramWithBinary,
                                                    native_->context.get(), cl_uint{1}, &device, &size, &binary,
                                                    &binary_status));
  client::check(binary_status, "clCreateProgramWithBinary", what);
  client::check(build_for(program.get(), device, options_), "clBuildProgram", what);
  return program;
} catch (const Error&) {
  return {};
}

void KernelLibrary::keep(const store::ContentHash& key, const std::filesystem::path& folder, cl_program program) const
    try {
  write_kept(folder, kept_programs(), key, binary_of(program));
} catch (const Error&) {  // A full disk, say: as if there were no cache.
}

KernelLibrary::Built KernelLibrary::build_program(const Texts& texts, const std::filesystem::path& folder) const {
  const TraceSpan span("build a program", "gpu");
  std::string source = prelude();
  for (const auto& text : texts) source += "\n" + text->text;
  const store::ContentHash key = key_of(source);
  if (!folder.empty())
    if (auto program = load(key, folder)) return {std::move(program), true};
  client::Handle<cl_program> program = compile(texts, source);
  if (!folder.empty()) keep(key, folder, program.get());
  return {std::move(program), false};
}

client::Handle<cl_program> KernelLibrary::compile(const Texts& texts, const std::string& source) const {
  client::Handle<cl_program> program = from_source(texts, source, options_);
  const std::string compiled = has_warpgroups(source) ? binary_of(program.get()) : "";
  if (!has_warpgroups(compiled)) return program;
  // A driver that does not take what was opened gets kernels without it.
  const auto opened = open_warpgroups(compiled);
  program = opened ? from_binary(reinterpret_cast<const unsigned char*>(opened->data()), opened->size())
                   : client::Handle<cl_program>();
  return program ? std::move(program) : from_source(texts, source, options_ + " -DTN_NO_WARPGROUPS");
}

client::Handle<cl_program> KernelLibrary::from_source(const Texts& texts, const std::string& source,
                                                      const std::string& options) const {
  const char* begin = source.c_str();
  const std::size_t size = source.size();
  const cl_device_id device = native_->device.id;
  const auto what = [&] { return "making a program for " + native_->device.name; };
  client::Handle<cl_program> program(client::create("clCreateProgramWithSource", what, clCreateProgramWithSource,
                                                    native_->context.get(), cl_uint{1}, &begin, &size));
  if (const cl_int status = build_for(program.get(), device, options); status != CL_SUCCESS) {
    std::string kinds;
    for (const auto& text : texts) kinds += (kinds.empty() ? "" : ", ") + text->kind;
    client::fail(status, "clBuildProgram",
                 "building kernels (" + kinds + ") for " + native_->device.name +
                     "; the driver's log: " + build_log(program.get(), device));
  }
  return program;
}

std::vector<KernelLibrary::Texts> KernelLibrary::unknown(const Texts& texts, std::size_t threads) const {
  Texts all;
  std::set<std::string_view> seen;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& text : texts) {
      const auto known = by_name_.find(text->name);
      if ((known == by_name_.end() || known->second.expired()) && seen.insert(text->name).second) all.push_back(text);
    }
  }
  // All threads have as many to compile.
  const std::size_t each = std::clamp<std::size_t>((all.size() + threads - 1) / threads, 1, kMostInProgram);
  std::vector<Texts> programs;
  for (auto& text : all) {
    if (programs.empty() || programs.back().size() == each) programs.emplace_back();
    programs.back().push_back(std::move(text));
  }
  return programs;
}

std::vector<std::shared_ptr<const Program>> KernelLibrary::build(const Texts& texts,
                                                                 const std::filesystem::path& folder,
                                                                 const TimeLimit& time, std::int32_t most_threads) {
  const std::vector<Texts> programs = unknown(texts, threads_of(most_threads));
  std::vector<Built> built(programs.size());
  run_parallel(programs.size(), most_threads, [&](std::size_t i) {
    time.check("compiling", "kernels for " + native_->device.name, limit_property::kCompileSeconds);
    built[i] = build_program(programs[i], folder);
  });
  std::vector<std::shared_ptr<const Program>> found;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      ++(built[i].was_loaded ? counts_.loaded : counts_.built);
      recent_.push_front(std::make_shared<const Program>(std::move(built[i].program)));
      for (const auto& text : programs[i]) by_name_[text->name] = recent_.front();
    }
    for (const auto& text : texts) found.push_back(by_name_.at(text->name).lock());
    while (recent_.size() > kKept) recent_.pop_back();
    std::erase_if(by_name_, [](const auto& entry) { return entry.second.expired(); });
  }
  // What another thread let go of in between is built once more.
  return std::find(found.begin(), found.end(), nullptr) == found.end() ? found
                                                                       : build(texts, folder, time, most_threads);
}

std::vector<std::shared_ptr<const Program>> KernelLibrary::build_apart(const Texts& texts, Until until,
                                                                       std::chrono::nanoseconds& longest,
                                                                       std::int32_t most_threads) const {
  std::vector<std::shared_ptr<const Program>> programs(texts.size());
  std::atomic<std::int64_t> most{longest.count()};
  run_parallel(texts.size(), most_threads, [&](std::size_t i) {
    CancellationScope::check("compiling", texts[i]->kind + " to measure it");
    const auto begin = std::chrono::steady_clock::now();
    if (begin + std::chrono::nanoseconds(most) >= until) return;
    try {
      programs[i] = std::make_shared<const Program>(compile({texts[i]}, prelude() + "\n" + texts[i]->text));
    } catch (const Error&) {  // Too large for the device, say.
    }
    const std::int64_t took = (std::chrono::steady_clock::now() - begin) / std::chrono::nanoseconds(1);
    for (std::int64_t known = most; known < took && !most.compare_exchange_weak(known, took);) continue;
  });
  longest = std::chrono::nanoseconds(most);
  return programs;
}

KernelLibrary::Counts KernelLibrary::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace tenon::inline v1::gpu_device
