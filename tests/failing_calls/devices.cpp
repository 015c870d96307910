// SPDX-License-Identifier: Apache-2.0
// Models on the devices that reach hardware by a vendor's interface, with each call of that interface failing: OpenCL's entry points under
// the GPU device, Level Zero's under the NPU device.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <tenon/runtime/core.hpp>
#include <tenon/tests/failing_calls/each_call.hpp>
#ifdef TENON_TESTS_GPU
#include <tenon/frameworks/opencl/client.hpp>
#endif
#ifdef TENON_TESTS_NPU
#include <tenon/frameworks/level_zero/client.hpp>
#endif

namespace {

using namespace tenon;
using tenon_test::CallKind;
using tenon_test::Work;

void check(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("wrong: ") + what);
}

std::string model() {
  const char* const folder = std::getenv("TENON_MODELS");
  if (!folder) throw std::runtime_error("TENON_MODELS names no folder of models");
  return std::string(folder) + "/colour.xml";
}

/// The work of one device.
class OnDevice {
 public:
  explicit OnDevice(std::string device) : device_(std::move(device)) {}

  void compile() { check(compiled().outputs().size() == 1, "outputs of the compiled model"); }
  void first_inference() {
    if (!model_) model_ = compiled();
    auto request = model_.create_infer_request();
    check_result(request);
  }
  void second_inference() {
    if (!request_) request_ = compiled().create_infer_request();
    check_result(request_);
  }
  void asynchronous_inference() {
    if (!model_) model_ = compiled();
    auto request = model_.create_infer_request();
    fill(request);
    request.start_async();
    request.wait();
    check_result(request);
  }
  /// The device's module is loaded, too.
  void from_nothing() {
    Core fresh;
    auto request = fresh.compile_model(model(), device_).create_infer_request();
    check_result(request);
  }

 private:
  CompiledModel compiled() {
    if (!core_) core_ = std::make_unique<Core>();
    return core_->compile_model(model(), device_);
  }
  static void fill(InferRequest& request) {
    Tensor image = request.get_input_tensor();
    for (std::size_t i = 0; i < image.element_count(); ++i)
      image.data<float>()[i] = static_cast<float>(i % 255) / 255.0f;
  }
  /// As the first one, bit for bit.
  void check_result(InferRequest& request) {
    fill(request);
    request.infer();
    const Tensor out = request.get_output_tensor();
    const std::vector<float> result(out.data<float>(), out.data<float>() + out.element_count());
    if (expected_.empty()) expected_ = result;
    check(result == expected_ && result.size() == 12, "the result of an inference");
  }

  const std::string device_;
  std::unique_ptr<Core> core_;
  CompiledModel model_;
  InferRequest request_;
  std::vector<float> expected_;
};

/// All work of a device, with what `adapt` says of it.
template <typename Adapt>
void add(std::vector<Work>& all, const std::string& device, const Adapt& adapt) {
  const auto on = std::make_shared<OnDevice>(device);
  const auto named = [&](const char* name, void (OnDevice::*run)()) {
    Work work{device + "_" + name, [on, run] { ((*on).*run)(); }};
    adapt(work);
    all.push_back(std::move(work));
  };
  named("compile", &OnDevice::compile);
  named("inference_first", &OnDevice::first_inference);
  named("inference_second", &OnDevice::second_inference);
  named("inference_asynchronous", &OnDevice::asynchronous_inference);
  named("from_nothing", &OnDevice::from_nothing);
  Work first = all.back();
  first.name = "first_" + device;
  first.is_first = true;
  all.push_back(first);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<Work> all;
#ifdef TENON_TESTS_GPU
  add(all, "GPU", [](Work& work) {
    work.kinds = {CallKind::kOpenCl, CallKind::kNew, CallKind::kThread};
    work.handles = [] { return opencl::client::Probe::handles.load(); };
  });
#endif
#ifdef TENON_TESTS_NPU
  add(all, "NPU", [](Work& work) {
    using level_zero::client::Probe;
    work.kinds = {CallKind::kNative, CallKind::kNew, CallKind::kThread};
    work.handles = [] { return Probe::handles.load(); };
    work.fail_native = [](long number) {
      (void)level_zero::result_name(
          ZE_RESULT_SUCCESS);  // Links the framework's library: the probe is to be that of the device.
      Probe::failed = false;
      Probe::countdown = number;
    };
    work.native_failed = [] { return Probe::failed.load(); };
  });
#endif
  return tenon_test::main_of(all, count, arguments);
}
