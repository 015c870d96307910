// SPDX-License-Identifier: Apache-2.0
// Running bodies: loops and branches.
#include <algorithm>
#include <cstring>
#include <limits>

#include <tenon/core/error.hpp>
#include <tenon/engine/plan/control_flow.hpp>

namespace tenon::inline v1::engine {
namespace {

bool run_body(Execution& body, RunControl* control) {
  const bool done = control ? body.run_placed(control->cancelled, control->context) : body.run_placed();
  if (!done && control) control->stopped = true;
  return done;
}

std::size_t bytes_of(const Port& port) { return *checked_size_bytes(port.type, port.shape); }

Tensor room(std::size_t bytes) { return Tensor(ElementType::kU8, Shape{std::max<std::size_t>(bytes, 1)}); }

class LoopState final : public StepState {
 public:
  explicit LoopState(const LoopStep& step) : step_(step), body_(step.body) {
    const auto& results = step.body->outputs();
    results_.resize(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) results_[i].memory[0] = room(bytes_of(results[i]));
    for (const auto& merge : step.merges) {
      Result& result = results_[merge.result];
      if (!result.memory[1]) result.memory[1] = room(bytes_of(results[merge.result]));
    }
    for (const auto& slice : step.slices)
      parts_.push_back(slice.layout.is_contiguous() ? Tensor() : room(slice.layout.size_bytes()));
    if (step.number >= 0) number_ = Tensor(step.number_type, Shape{});
  }

  void rebind(std::span<void* const> pointers) override { pointers_.assign(pointers.begin(), pointers.end()); }

  void run(const dnnl::stream&) override {
    const std::int64_t limit = iteration_limit();
    bool goes_on = !step_.has_condition || *static_cast<const std::uint8_t*>(pointers_[1]) != 0;
    start();
    std::int64_t iteration = 0;
    for (; iteration < limit && goes_on; ++iteration) {
      feed(iteration);
      if (!run_body(body_, control)) return;
      keep(iteration);
      if (step_.goes_on >= 0) goes_on = *current(static_cast<std::size_t>(step_.goes_on)) != 0;
    }
    finish(iteration);
  }

 private:
  struct Result {
    Tensor memory[2];  // the second if the value goes back into the body
    int current = 0;
  };

  std::int64_t iteration_limit() const {
    if (step_.iterations >= 0) return step_.iterations;
    const void* at = pointers_[0];
    const std::int64_t trips = step_.trips_type == ElementType::kI64 ? *static_cast<const std::int64_t*>(at)
                                                                     : *static_cast<const std::int32_t*>(at);
    return trips < 0 ? std::numeric_limits<std::int64_t>::max() : trips;
  }

  std::uint8_t* current(std::size_t result) {
    Result& r = results_[result];
    return r.memory[r.current].data<std::uint8_t>();
  }

  void start() {
    for (const auto& fixed : step_.fixed) body_.place_input(fixed.parameter, pointers_[fixed.operand]);
    if (step_.number >= 0) body_.place_input(static_cast<std::size_t>(step_.number), number_.data());
  }

  void feed(std::int64_t iteration) {
    for (std::size_t i = 0; i < step_.slices.size(); ++i) {
      const auto& slice = step_.slices[i];
      if (iteration >= slice.count) {
        throw Error(Code::kInvalidArgument, step_.node_text + ": a sliced input has " + std::to_string(slice.count) +
                                                " parts, which are fewer than the iterations");
      }
      const std::size_t offset =
          static_cast<std::size_t>(slice.first + iteration * slice.step) * slice.layout.axis_bytes;
      auto* from = static_cast<std::uint8_t*>(pointers_[slice.operand]) + offset;
      if (!slice.layout.is_contiguous()) {
        auto* to = parts_[i].data<std::uint8_t>();
        for (std::size_t run = 0; run < slice.layout.outer; ++run)
          std::memcpy(to + run * slice.layout.run_bytes, from + run * slice.layout.pitch_bytes, slice.layout.run_bytes);
        from = to;
      }
      body_.place_input(slice.parameter, from);
    }
    for (const auto& merge : step_.merges)
      body_.place_input(merge.parameter, iteration == 0 ? pointers_[merge.operand] : current(merge.result));
    // What was written last is read next: the next value goes to the other buffer.
    for (std::size_t i = 0; i < results_.size(); ++i) {
      Result& result = results_[i];
      if (result.memory[1]) result.current ^= 1;
      body_.place_output(i, result.memory[result.current].data());
    }
    if (step_.number < 0) return;
    if (step_.number_type == ElementType::kI64)
      *number_.data<std::int64_t>() = iteration;
    else
      *number_.data<std::int32_t>() = static_cast<std::int32_t>(iteration);
  }

  void keep(std::int64_t iteration) {
    for (const auto& join : step_.joins) {
      const std::int64_t place = join.is_reversed ? join.parts - 1 - iteration : iteration;
      auto* to = static_cast<std::uint8_t*>(pointers_[join.operand]) +
                 static_cast<std::size_t>(place * join.part_size) * join.layout.axis_bytes;
      const std::uint8_t* from = current(join.result);
      for (std::size_t run = 0; run < join.layout.outer; ++run)
        std::memcpy(to + run * join.layout.pitch_bytes, from + run * join.layout.run_bytes, join.layout.run_bytes);
    }
    for (const auto& single : step_.singles)
      if (single.iteration == iteration) hand_out(single);
  }

  void hand_out(const LoopStep::Single& single) {
    const std::size_t bytes = bytes_of(step_.body->outputs()[single.result]);
    std::memcpy(pointers_[single.operand], current(single.result), bytes);
  }

  void finish(std::int64_t iterations) {
    for (const auto& single : step_.singles) {
      if (iterations > 0) {
        if (single.iteration < 0) hand_out(single);
        continue;
      }
      // Without any iteration, the initial value remains.
      const void* initial = nullptr;
      for (const auto& merge : step_.merges)
        if (merge.result == single.result) initial = pointers_[merge.operand];
      const std::size_t bytes = bytes_of(step_.body->outputs()[single.result]);
      if (initial)
        std::memcpy(pointers_[single.operand], initial, bytes);
      else
        std::memset(pointers_[single.operand], 0, bytes);
    }
  }

  const LoopStep& step_;
  Execution body_;
  std::vector<void*> pointers_;
  std::vector<Result> results_;
  std::vector<Tensor> parts_;
  Tensor number_;
};

class BranchState final : public StepState {
 public:
  explicit BranchState(const BranchStep& step) : step_(step) {
    for (int i = 0; i < 2; ++i)
      if (step.branches[i].body) bodies_[i] = std::make_unique<Execution>(step.branches[i].body);
  }
  void rebind(std::span<void* const> pointers) override {
    condition_ = static_cast<const std::uint8_t*>(pointers[0]);
    for (int i = 0; i < 2; ++i) {
      if (!bodies_[i]) continue;
      for (const auto& [parameter, operand] : step_.branches[i].inputs)
        bodies_[i]->place_input(parameter, pointers[operand]);
      for (const auto& [result, operand] : step_.branches[i].outputs)
        bodies_[i]->place_output(result, pointers[operand]);
    }
  }
  void run(const dnnl::stream&) override {
    Execution* body = bodies_[*condition_ != 0 ? 0 : 1].get();
    if (!body) throw Error(Code::kInternal, "CPU: a branch that is never taken was taken");
    run_body(*body, control);
  }

 private:
  const BranchStep& step_;
  const std::uint8_t* condition_ = nullptr;
  std::unique_ptr<Execution> bodies_[2];
};

}  // namespace

std::unique_ptr<StepState> LoopStep::make_state() const { return std::make_unique<LoopState>(*this); }
std::unique_ptr<StepState> BranchStep::make_state() const { return std::make_unique<BranchState>(*this); }

}  // namespace tenon::inline v1::engine
