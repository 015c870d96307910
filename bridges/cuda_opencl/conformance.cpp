// SPDX-License-Identifier: Apache-2.0
// CUDA and OpenCL on one device, for the conformance suite: memory that both can use, and memory that cannot be exported.
#include <tenon/bridges/cuda_opencl/cuda_opencl.hpp>
#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/cuda/client.hpp>

#include <tenon/tests/conformance/framework.hpp>

namespace cuda_opencl_conformance {

using namespace tenon;

class CudaOpenclUnderTest final : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "cuda_for_opencl"; }
  Context make_context() override {
    static const Context* context = new Context(cuda::make_context());
    if (!cuda::device(*context).exports_fd)
      throw Error(Code::kUnavailable, "cuda: the device exports no memory as a descriptor");
    return *context;
  }
  std::span<const Edge* const> edges() const override { return cuda_opencl::edges(); }
  std::vector<std::string> variants() const override { return {"exported", "plain"}; }
  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    auto& cuda = *context.as<cuda::CudaContext>();
    return {variant == "exported" ? cuda.allocate_exported(wanted) : cuda.allocate(wanted), {}};
  }
  std::size_t live_objects() const override { return cuda::client::Probe::handles.load(); }
  void drop_idle() override {
    drain_deferred(default_deadline());
    try {
      make_context().as<cuda::CudaContext>()->native().drop_idle();
    } catch (const Error&) {  // There is none: make_context() said why.
    }
  }
  bool fail_native_call(std::size_t n) override {
    cuda::client::Probe::failed.store(false);
    cuda::client::Probe::countdown.store(static_cast<long>(n));
    return true;
  }
  bool native_call_failed() const override { return cuda::client::Probe::failed.load(); }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<CudaOpenclUnderTest>());

}  // namespace cuda_opencl_conformance
