// SPDX-License-Identifier: Apache-2.0
// Runs the probes of kernels/roofline.cl.
#include <tenon/devices/gpu/roofline.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include <tenon/core/policy.hpp>
#include <tenon/devices/gpu/kernels.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

using std::chrono::nanoseconds;

/// Long enough that the clock's steps and the start of a kernel do not count.
constexpr nanoseconds kLongEnough = std::chrono::milliseconds(3);
constexpr int kRuns = 5;
/// Machines with other work take several times as long as those without.
constexpr std::chrono::seconds kPatience{120};
constexpr std::size_t kGroup = 64;
/// The work-items of a group of roofline_copy, and the bytes that each of them moves: four times 16.
constexpr std::size_t kCopyGroup = 256, kCopyBytes = 4 * 16;
/// The independent sums of a work-item of roofline_multiply and roofline_matrix.
constexpr double kSums = 8;

class Probes {
 public:
  explicit Probes(const Gpu& gpu)
      : gpu_(gpu), queue_(make_queue(gpu, true, hint::Priority::MEDIUM, hint::Priority::MEDIUM)) {
    const auto wide = client::info<cl_uint>(clGetDeviceInfo, "clGetDeviceInfo", gpu.native().device.id,
                                            CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    width_ = std::clamp<cl_uint>(wide, 1, 16);
    auto text = std::make_shared<KernelText>();
    text->kind = text->name = "roofline";
    const auto define = [&](const char* name, const std::string& value) {
      text->text += std::string("#define ") + name + " " + value + "\n";
    };
    define("WIDTH", std::to_string(width_));
    define("WIDE", width_ > 1 ? "float" + std::to_string(width_) : "float");
    define("HAS_MATRICES", has_matrices() ? "1" : "0");
    if (has_matrices()) text->text += kernels::matrix_nvidia;
    text->text += kernels::roofline;
    program_ = gpu.library().build({text}, {}, TimeLimit(0)).front();
  }

  Roofline run() {
    Roofline roof{copied(), computed("roofline_multiply", 2.0 * width_)};
    // A warp of 32 work-items multiplies 16 x 8 x 16 at once.
    if (has_matrices()) roof.f16_per_second = computed("roofline_matrix", 2.0 * 16 * 8 * 16 / 32);
    return roof;
  }

 private:
  bool has_matrices() const { return gpu_.target().matrices == Target::Matrices::kNvidia; }

  double copied() {
    const auto& device = gpu_.native().device;
    const auto cache =
        client::info<cl_ulong>(clGetDeviceInfo, "clGetDeviceInfo", device.id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    constexpr std::size_t kMegabyte = std::size_t{1} << 20;
    std::size_t bytes = std::clamp<std::size_t>(8 * cache, 32 * kMegabyte, (device.is_cpu() ? 256 : 1024) * kMegabyte);
    bytes = std::min({bytes, static_cast<std::size_t>(device.max_allocation), gpu_.memory_bytes() / 8});
    const std::size_t group = std::min(kCopyGroup, gpu_.target().max_group);
    bytes = bytes / (kCopyBytes * group) * (kCopyBytes * group);
    const auto from = filled(bytes), to = filled(bytes);
    const auto kernel = make("roofline_copy");
    set(kernel, 0, from.get());
    set(kernel, 1, to.get());
    nanoseconds best = nanoseconds::max();
    for (int i = 0; i < kRuns; ++i) best = std::min(best, time(kernel, bytes / kCopyBytes, group));
    return 2 * static_cast<double>(bytes) / seconds(best);
  }

  /// @param operations  The operations of a work-item for each sum and round.
  double computed(const char* name, double operations) {
    const auto kernel = make(name);
    const auto out = filled(sizeof(float));
    set(kernel, 0, out.get());
    set(kernel, 1, 0.5f);
    const std::size_t items = gpu_.compute_units() * (gpu_.native().device.is_cpu() ? kGroup : 32 * kGroup);
    cl_int rounds = 64;
    for (nanoseconds last{0}; last < kLongEnough && rounds < 1 << 24; rounds *= 2) {
      set(kernel, 2, rounds);
      last = time(kernel, items, kGroup);
    }
    rounds /= 2;
    nanoseconds best = nanoseconds::max();
    for (int i = 0; i < kRuns; ++i) best = std::min(best, time(kernel, items, kGroup));
    return operations * kSums * rounds * static_cast<double>(items) / seconds(best);
  }

  client::Handle<cl_kernel> make(const char* name) const { return program_->make({"roofline", name, ""}); }

  /// Memory that is there: untouched pages of a CPU's would all be one.
  client::Handle<cl_mem> filled(std::size_t bytes) const {
    client::Handle<cl_mem> buffer =
        client::make_buffer(gpu_.native(), CL_MEM_READ_WRITE, bytes, nullptr, "a buffer of the roofline's probes");
    const cl_uchar value = 1;
    client::check(client::call(clEnqueueFillBuffer, queue_.get(), buffer.get(), static_cast<const void*>(&value),
                               sizeof value, std::size_t{0}, bytes, cl_uint{0}, kNoEvents, kNoEvent),
                  "clEnqueueFillBuffer", "filling a buffer of the roofline's probes");
    return buffer;
  }

  template <typename T>
  static void set(const client::Handle<cl_kernel>& kernel, cl_uint at, T value) {
    client::check(client::call(clSetKernelArg, kernel.get(), at, sizeof value, static_cast<const void*>(&value)),
                  "clSetKernelArg", "giving a probe its arguments");
  }

  nanoseconds time(const client::Handle<cl_kernel>& kernel, std::size_t items, std::size_t group) const {
    cl_event made = nullptr;
    client::check(client::call(clEnqueueNDRangeKernel, queue_.get(), kernel.get(), cl_uint{1},
                               static_cast<const std::size_t*>(nullptr), static_cast<const std::size_t*>(&items),
                               static_cast<const std::size_t*>(&group), cl_uint{0}, kNoEvents, &made),
                  "clEnqueueNDRangeKernel", [&] { return "measuring the roofline of " + gpu_.native().device.name; });
    const client::Handle<cl_event> event(made);
    client::finish(client::Handle<cl_event>::retain(made, "a probe's event"), Clock::now() + kPatience);
    return duration_of(event.get());
  }
  static double seconds(nanoseconds time) {
    return std::max(std::chrono::duration<double>(time).count(), 1e-9);  // A clock that stands still.
  }

  const Gpu& gpu_;
  const client::Handle<cl_command_queue> queue_;
  cl_uint width_ = 1;
  std::shared_ptr<const Program> program_;
};

}  // namespace

const Roofline& roofline_of(const Gpu& gpu) {
  static std::mutex mutex;
  static auto* const known = new std::map<cl_device_id, Roofline>;
  const std::lock_guard lock(mutex);
  const auto found = known->find(gpu.native().device.id);
  return found != known->end() ? found->second
                               : known->emplace(gpu.native().device.id, Probes(gpu).run()).first->second;
}

}  // namespace tenon::inline v1::gpu_device
