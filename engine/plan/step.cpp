// SPDX-License-Identifier: Apache-2.0
// An execution's state for each kind of step.
#include <array>

#include <tenon/engine/plan/plan.hpp>
#include <tenon/graph/evaluate.hpp>

namespace tenon::inline v1::engine {
namespace {

class PrimitiveState final : public StepState {
 public:
  explicit PrimitiveState(const PrimitiveStep& step) : primitive_(step.primitive.get()), after_(step.after) {
    memories_.reserve(step.arguments.size());
    arguments_.reserve(step.arguments.size());
    for (const auto& [argument, desc] : step.arguments) {
      memories_.emplace_back(desc, step.engine, nullptr);
      arguments_.push_back({argument, memories_.back().get()});
    }
  }
  void rebind(std::span<void* const> pointers) override {
    for (std::size_t i = 0; i < memories_.size(); ++i) memories_[i].set_data_handle(pointers[i]);
    if (after_) pointers_.assign(pointers.begin(), pointers.end());
  }
  void run(const dnnl::stream& stream) override {
    // The C call: the C++ one builds a map of arguments each time.
    const auto status =
        dnnl_primitive_execute(primitive_, stream.get(), static_cast<int>(arguments_.size()), arguments_.data());
    if (status != dnnl_success) throw Error(Code::kInternal, "a CPU kernel failed", "dnnl_primitive_execute", status);
    if (after_) after_(pointers_);
  }

 private:
  const_dnnl_primitive_t primitive_;
  const std::function<void(std::span<void* const>)>& after_;
  std::vector<void*> pointers_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

class KernelState final : public StepState {
 public:
  explicit KernelState(const KernelStep& step) : kernel_(step.kernel) {}
  void rebind(std::span<void* const> pointers) override { pointers_.assign(pointers.begin(), pointers.end()); }
  void run(const dnnl::stream&) override { kernel_(pointers_); }

 private:
  const KernelStep::Kernel& kernel_;
  std::vector<void*> pointers_;
};

// All in one cache line: in a long chain of small steps, fetching their states is most of the work.
class ElementwiseState final : public StepState {
 public:
  explicit ElementwiseState(const ElementwiseStep& step)
      : function_(step.function),
        count_(static_cast<std::uint32_t>(step.count)),
        alpha_(step.alpha),
        beta_(step.beta) {}
  void rebind(std::span<void* const> pointers) override {
    x_ = static_cast<const float*>(pointers.front());
    y_ = static_cast<const float*>(pointers[pointers.size() - 2]);
    out_ = static_cast<float*>(pointers.back());
  }
  void run(const dnnl::stream&) override { function_(x_, y_, nullptr, out_, count_, alpha_, beta_); }

 private:
  kernels::ElementwiseFunction function_;
  const float *x_ = nullptr, *y_ = nullptr;
  float* out_ = nullptr;
  std::uint32_t count_;
  float alpha_, beta_;
};

// The address of zero-element tensors: kernels never access it, but a tensor needs an address.
alignas(planning::kAlignment) std::array<std::byte, planning::kAlignment> nowhere;

Tensor borrow(const std::pair<ElementType, Shape>& what, void* data) {
  return Tensor(what.first, what.second, data ? data : nowhere.data());
}

class ReferenceState final : public StepState {
 public:
  explicit ReferenceState(const ReferenceStep& step) : step_(step) {}
  void rebind(std::span<void* const> pointers) override {
    inputs_.clear();
    outputs_.clear();
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      (i < step_.input_count ? inputs_ : outputs_).push_back(borrow(step_.tensors[i], pointers[i]));
    }
    planned_ = outputs_;
  }
  void run(const dnnl::stream&) override { evaluate_planned(*step_.node, inputs_, planned_, outputs_); }

 private:
  const ReferenceStep& step_;
  std::vector<Tensor> inputs_, outputs_, planned_;
};

class TensorKernelState final : public TensorState {
 public:
  explicit TensorKernelState(const TensorStep& step) : step_(step), tensors_(step.tensors.size()) {}
  void rebind(std::span<void* const> pointers) override {
    for (std::size_t i = 0; i < pointers.size(); ++i) tensors_[i] = borrow(step_.tensors[i], pointers[i]);
  }
  /// Without the lease, which the execution's binding holds: the buffer returns when another is bound, not when it is used.
  void rebind_tensor(std::size_t operand, const Tensor& tensor) override { tensors_[operand] = tensor.with_lease({}); }
  void run(const dnnl::stream&) override { step_.kernel(tensors_); }

 private:
  const TensorStep& step_;
  std::vector<Tensor> tensors_;
};

}  // namespace

std::unique_ptr<StepState> PrimitiveStep::make_state() const { return std::make_unique<PrimitiveState>(*this); }
std::unique_ptr<StepState> KernelStep::make_state() const { return std::make_unique<KernelState>(*this); }
std::unique_ptr<StepState> ElementwiseStep::make_state() const { return std::make_unique<ElementwiseState>(*this); }
std::unique_ptr<StepState> ReferenceStep::make_state() const { return std::make_unique<ReferenceState>(*this); }
std::unique_ptr<StepState> TensorStep::make_state() const { return std::make_unique<TensorKernelState>(*this); }

}  // namespace tenon::inline v1::engine
