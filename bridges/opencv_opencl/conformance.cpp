// SPDX-License-Identifier: Apache-2.0
// cv::UMat for the conformance suite, on the cl_context of the suite's OpenCL entries, so that memory can pass both
// ways. Another of those entries has its own cl_context, and must be refused.
#include <tenon/bridges/opencv_opencl/opencv_opencl.hpp>

#include <tenon/tests/conformance/framework.hpp>

namespace opencv_opencl_conformance {

using namespace tenon;

const Context& opencl_context() {
  static const Context* found = [] {
    for (const auto& framework : conformance::all()) {
      if (framework->name() == "opencl_buffer") return new Context(framework->make_context());
    }
    return new Context(opencl::make_context());
  }();
  return *found;
}

class UmatUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "opencv_umat"; }
  Context make_context() override {
    static const Context* context = new Context(opencv_opencl::make_context(opencl_context()));
    return *context;
  }
  std::vector<std::string> variants() const override { return {"owned", "wrapped", "region"}; }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    if (variant == "owned") return {context->allocate(wanted), {}};
    const int bytes = static_cast<int>(std::max<std::size_t>(wanted.size_bytes, 1));
    const cv::ocl::OpenCLExecutionContextScope scope(opencv_opencl::execution(context));
    cv::UMat users(2, bytes, CV_8U);
    return {opencv_opencl::wrap(context, variant == "wrapped" ? users : users.rowRange(1, 2)).memory(), {}};
  }

  std::size_t live_objects() const override { return opencv_opencl::detail::Probe::alive.load(); }
  bool fail_native_call(std::size_t n) override {
    opencl::client::Probe::failed.store(false);
    opencl::client::Probe::countdown.store(static_cast<long>(n));
    return true;
  }
  bool native_call_failed() const override { return opencl::client::Probe::failed.load(); }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<UmatUnderTest>());

}  // namespace opencv_opencl_conformance
