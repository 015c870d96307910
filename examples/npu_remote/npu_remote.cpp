// SPDX-License-Identifier: Apache-2.0
// Every way to a remote tensor of the NPU that OpenVINO documents (Remote Tensor API of NPU Plugin), in Tenon's names:
// contexts of the core and of a model; a dma-buf, an NT handle, device memory as a remote and as an ordinary
// tensor; and the same by maps of keys. Inference uses each input in place.
#include <algorithm>
#include <cstdint>
#include <cstdio>

#include <tenon/core/router.hpp>
#include <tenon/devices/npu/public/level_zero.hpp>
#include <tenon/frameworks/dmabuf/contexts.hpp>
#include <tenon/runtime/runtime.hpp>

namespace {

using namespace tenon;
using namespace tenon::intel_npu;
using level_zero::ZeroBufferTensor;
using level_zero::ZeroContext;

constexpr int kNotHere = 77;
const Shape kShape{1, 1024};

/// y = relu(x)
std::shared_ptr<Model> model() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(kShape));
  x->output(0).set_names({"x"});
  auto y = std::make_shared<op::v0::Relu>(x->output(0));
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(ResultVector{std::make_shared<op::v0::Result>(y->output(0))}, ParameterVector{x});
}

/// Infers on an input in memory `values`, and prints whether the result is right.
bool runs(InferRequest& request, const char* name, const Tensor& input, float* values) {
  std::fill_n(values, 1024, -1.f);
  values[7] = 7;
  request.set_tensor("x", input);
  request.infer();
  const auto* y = request.get_tensor("y").data<float>();
  const bool right = y[7] == 7 && y[8] == 0;
  std::printf("%-34s %s\n", name, right ? "in place" : "WRONG");
  return right;
}

bool run(Core& core) {
  // Contexts.
  auto from_core = core.get_default_context("NPU").as<ZeroContext>();
  auto compiled = core.compile_model(model(), from_core, zero_copy(ZeroCopy::kRequire));
  auto context = compiled.get_context().as<ZeroContext>();
  bool right = context.get() == from_core.get();
  std::printf("%-34s %p\n", "context of core and model", context.get());
  auto request = compiled.create_infer_request();

  // A dma-buf, or the memfd that stands in for one. The descriptor may be closed afterwards.
  Requirements wanted;
  wanted.size_bytes = 4096;
  const auto buffer = dmabuf::context()->allocate(wanted);
  const int fd = buffer->borrow_fd();
  void* const handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
  const Tensor mapped =
      core.router().map(Tensor(TensorInfo{element::f32, kShape, {}}, buffer), host_context(), Access::kReadWrite);
  ZeroBufferTensor shared = context.create_tensor(element::f32, kShape, fd);
  right &= runs(request, "dma-buf", shared, mapped.data<float>());

  // An NT handle, which exists on Windows only.
  try {
    context.create_tensor(element::f32, kShape, static_cast<void*>(mapped.data<float>()));
    right = false;
  } catch (const Error& error) {
    right &= error.code() == Code::kUnimplemented;
    std::printf("%-34s refused: %s\n", "NT handle", error.what());
  }

  // Device memory that the host can access: as a remote tensor, and as one with data().
  ZeroBufferTensor remote = context.create_l0_host_tensor(element::f32, kShape, TensorType::INPUT);
  right &= runs(request, "Level Zero host, remote tensor", remote, static_cast<float*>(remote.get()));
  Tensor plain = context.create_host_tensor(element::f32, kShape);
  right &= runs(request, "Level Zero host, ordinary tensor", plain, plain.data<float>());

  // The same without the typed classes.
  RemoteContext by_keys = core.create_context("NPU", {{"L0_CONTEXT", context.get()}});
  RemoteTensor low = by_keys.create_tensor(element::f32, kShape, {{"MEM_TYPE", "SHARED_BUF"}, {"MEM_HANDLE", handle}});
  right &= runs(request, "dma-buf, by keys", low, mapped.data<float>());
  low =
      by_keys.create_tensor(element::f32, kShape, {mem_type(MemType::L0_INTERNAL_BUF), tensor_type(TensorType::INPUT)});
  right &= runs(request, "Level Zero host, by keys", low,
                static_cast<float*>(low.get_params().at(mem_handle.name()).as<void*>()));
  for (const auto& [key, value] : low.get_params()) std::printf("  %s %s\n", key.c_str(), value.to_text().c_str());
  return right && request.ledger().total().copied == 0;
}

}  // namespace

int main() {
  try {
    Core core;
    core.set_property("NPU", {hint::inference_precision(element::f32)});
    return run(core) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    const auto* ours = dynamic_cast<const Error*>(&error);
    return ours && (ours->code() == Code::kUnavailable || ours->code() == Code::kNotFound) ? kNotHere : 1;
  }
}
