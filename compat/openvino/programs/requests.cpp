// SPDX-License-Identifier: Apache-2.0
// Requests as programs keep them: callbacks that start again or throw, tensors that change places, shapes that move in many threads, states that
// follow beams.
#include <chrono>
#include <future>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include <openvino/op/util/variable.hpp>
#include <openvino/opsets/opset8.hpp>

#include "programs.hpp"

namespace requests_programs {
namespace {

using namespace ov::opset8;

/// y = x + 1
std::shared_ptr<ov::Model> next_model(const ov::PartialShape& shape) {
  auto x = f32_input(shape);
  x->output(0).set_names({"x"});
  auto y = std::make_shared<Add>(x, Constant::create(ov::element::f32, {1}, {1.0F}));
  y->output(0).set_names({"y"});
  return std::make_shared<ov::Model>(ov::OutputVector{y}, ov::ParameterVector{x}, "next");
}
ov::CompiledModel compiled_next(ov::Core& core, const ov::PartialShape& shape) {
  return core.compile_model(next_model(shape), "CPU", ov::hint::inference_precision(ov::element::f32));
}

void callbacks(ov::Core& core) {
  ov::InferRequest request = compiled_next(core, {1, 4}).create_infer_request();
  request.set_callback([](std::exception_ptr) { throw std::runtime_error("mine"); });
  request.start_async();
  refused(
      "a callback that throws", [&] { request.wait(); }, "mine");
  request.set_callback([](std::exception_ptr) { throw 5; });
  request.start_async();
  refused(
      "a callback that throws a number", [&] { request.wait(); }, "Unexpected exception");
  std::vector<float> seen;
  std::promise<void> done;
  request.set_callback([&](std::exception_ptr) {
    seen.push_back(request.get_tensor("y").data<float>()[0]);
    if (seen.size() == 5) return done.set_value();
    request.get_tensor("x").data<float>()[0] = seen.back();
    request.start_async();
  });
  std::fill_n(request.get_tensor("x").data<float>(), 4, 0.0F);
  request.start_async();
  done.get_future().wait();
  request.wait();
  line("fed back ", seen[0], seen[1], seen[2], seen[3], seen[4]);
  request.set_callback(nullptr);
  request.start_async();
  request.wait();
  line("without a callback ", request.wait_for(std::chrono::milliseconds(0)));
}

void tensors(ov::Core& core) {
  ov::InferRequest request = compiled_next(core, {1, 4}).create_infer_request();
  ov::Tensor a = request.get_tensor("x"), b = request.get_tensor("y");
  std::fill_n(a.data<float>(), 4, 1.0F);
  request.infer();
  request.set_tensor("x", b);
  request.set_tensor("y", a);
  request.infer();
  line("they change places ", a.data<float>()[3], ' ', b.data<float>()[3]);
  request.set_tensor("x", a);
  request.infer();
  line("one for both ", a.data<float>()[3]);
  ov::InferRequest none;
  refused("an empty request", [&] { none.infer(); });
  refused("an empty request's callback", [&] { none.set_callback([](std::exception_ptr) {}); });
  refused("a model that is none", [] { ov::CompiledModel().create_infer_request(); });
  line(static_cast<bool>(none), !none, none == ov::InferRequest(), request == none, request != none);

  ov::InferRequest moving = compiled_next(core, {-1, 4}).create_infer_request();
  std::vector<float> pool(64);
  std::iota(pool.begin(), pool.end(), 0.0F);
  for (const std::size_t rows : {3, 1, 5, 0, 2}) {
    moving.set_input_tensor(ov::Tensor(ov::element::f32, {rows, 4}, pool.data()));
    moving.infer();
    const ov::Tensor y = moving.get_output_tensor();
    line("rows ", y.get_shape(), ' ', y.get_byte_size(), ' ', rows == 0 ? 0 : y.data<float>()[y.get_size() - 1]);
  }
  const ov::Tensor wide(ov::element::f32, {4, 8}, pool.data());
  moving.set_input_tensor(ov::Tensor(wide, {0, 2}, {4, 6}));
  moving.infer();
  line("columns ", moving.get_output_tensor().data<float>()[15]);
  ov::InferRequest larger = compiled_next(core, {-1, 4}).create_infer_request();
  ov::Tensor room(ov::element::f32, {8, 4});
  larger.set_output_tensor(room);
  larger.set_input_tensor(ov::Tensor(ov::element::f32, {2, 4}, pool.data()));
  larger.infer();
  line("in more room ", room.get_shape(), ' ', larger.get_output_tensor().data() == room.data());
  const ov::Tensor kept = moving.get_output_tensor();
  moving.set_callback([&](std::exception_ptr) {
    line("a kept one in a callback ", kept.get_shape(), ' ', kept.data<float>()[kept.get_size() - 1]);
  });
  moving.set_input_tensor(ov::Tensor(ov::element::f32, {6, 4}, pool.data()));
  moving.start_async();
  moving.wait();
  moving.set_callback(nullptr);
  refused("another rank", [&] { moving.set_input_tensor(ov::Tensor(ov::element::f32, {4})); });
  refused("beyond its bound", [&] {
    compiled_next(core, {ov::Dimension(1, 3), 4})
        .create_infer_request()
        .set_input_tensor(ov::Tensor(ov::element::f32, {5, 4}));
  });
}

void threads(ov::Core& core) {
  ov::CompiledModel compiled = core.compile_model(next_model({-1, -1}), "CPU",
                                                  ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT));
  std::vector<std::future<float>> sums;
  for (std::size_t i = 1; i < 7; ++i)
    sums.push_back(std::async(std::launch::async, [&compiled, i] {
      ov::InferRequest own = compiled.create_infer_request();
      float sum = 0;
      for (std::size_t k = 1; k < 6; ++k) {
        ov::Tensor x(ov::element::f32, {i, k});
        std::fill_n(x.data<float>(), i * k, static_cast<float>(i * k));
        own.set_input_tensor(x);
        own.infer();
        sum += own.get_output_tensor().data<float>()[i * k - 1];
      }
      return sum;
    }));
  for (auto& sum : sums) line("of its own shapes ", sum.get());
  // A model, its Core and its requests may go while one of them runs.
  ov::Tensor y;
  {
    ov::InferRequest last;
    {
      ov::Core own;
      last = compiled_next(own, {64, 64}).create_infer_request();
    }
    std::fill_n(last.get_tensor("x").data<float>(), 64 * 64, 2.0F);
    last.start_async();
    last.wait();
    y = last.get_tensor("y");
  }
  line("after all went ", y.data<float>()[4095]);
  for (int i = 0; i < 3; ++i) compiled_next(core, {64, 64}).create_infer_request().start_async();
}

/// Sums the words that each beam has seen. What they were is a state of a row a beam.
std::shared_ptr<ov::Model> beam_model() {
  auto ids = std::make_shared<Parameter>(ov::element::i64, ov::PartialShape{-1, -1});
  ids->output(0).set_names({"ids"});
  auto beams = std::make_shared<Parameter>(ov::element::i32, ov::PartialShape{-1});
  beams->output(0).set_names({"beam_idx"});
  const auto number = [](std::int64_t value) { return Constant::create(ov::element::i64, {1}, {value}); };
  auto zero = Constant::create(ov::element::i64, {}, {0});
  auto words = Constant::create(ov::element::f32, {4, 2}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  auto seen = std::make_shared<Gather>(words, ids, zero);
  // As many rows as there are beams, without a word.
  auto none = std::make_shared<Multiply>(
      std::make_shared<ReduceSum>(ids, Constant::create(ov::element::i64, {2}, {0, 1}), false), zero);
  auto start = std::make_shared<Slice>(seen, number(0), std::make_shared<Unsqueeze>(none, zero), number(1), number(1));
  auto variable = std::make_shared<ov::op::util::Variable>(
      ov::op::util::VariableInfo{ov::PartialShape{-1, -1, 2}, ov::element::f32, "words"});
  auto before = std::make_shared<Gather>(std::make_shared<ReadValue>(start, variable), beams, zero);
  auto all = std::make_shared<Concat>(ov::OutputVector{before, seen}, 1);
  auto sum = std::make_shared<ReduceSum>(all, number(1), false);
  sum->output(0).set_names({"sum"});
  return std::make_shared<ov::Model>(ov::OutputVector{sum}, ov::SinkVector{std::make_shared<Assign>(all, variable)},
                                     ov::ParameterVector{ids, beams}, "beams");
}
void step(ov::InferRequest& request, std::vector<std::int64_t> ids, std::vector<std::int32_t> beams) {
  request.set_tensor("ids", ov::Tensor(ov::element::i64, {ids.size(), 1}, ids.data()));
  request.set_tensor("beam_idx", ov::Tensor(ov::element::i32, {beams.size()}, beams.data()));
  request.infer();
  print_values("sum", request.get_tensor("sum"));
  line("state ", request.query_state()[0].get_state().get_shape());
}
void beams(ov::Core& core) {
  ov::CompiledModel compiled = core.compile_model(beam_model(), "CPU", ov::hint::inference_precision(ov::element::f32));
  ov::InferRequest request = compiled.create_infer_request();
  step(request, {0, 1}, {0, 1});
  step(request, {2, 3}, {1, 1});
  step(request, {1, 1, 1}, {0, 0, 1});
  ov::VariableState state = request.query_state()[0];
  const ov::Tensor live = state.get_state();
  ov::Tensor kept(live.get_element_type(), live.get_shape());
  live.copy_to(kept);
  request.reset_state();
  step(request, {3}, {0});
  state.set_state(kept);
  step(request, {0, 0, 0}, {2, 1, 0});
  ov::InferRequest other = compiled.create_infer_request();
  other.query_state()[0].set_state(kept);
  step(other, {0}, {1});
  // The last word is taken back, as where words were guessed.
  const ov::Tensor long_one = state.get_state();
  const ov::Shape shape = long_one.get_shape();
  ov::Tensor shorter(ov::element::f32, {shape[0], shape[1] - 1, shape[2]});
  ov::Tensor(long_one, {0, 0, 0}, shorter.get_shape()).copy_to(shorter);
  state.set_state(shorter);
  step(request, {2, 2, 2}, {0, 1, 2});
  refused("a state of another rank", [&] { state.set_state(ov::Tensor(ov::element::f32, {2})); });
}

/// Steps are named before they were measured.
void steps(ov::Core& core) {
  ov::InferRequest request =
      core.compile_model(small_model(core), "CPU", ov::enable_profiling(true)).create_infer_request();
  const auto named = [&] {
    const auto all = request.get_profiling_info();
    return !all.empty() && std::all_of(all.begin(), all.end(), [](const ov::ProfilingInfo& each) {
      return !each.node_name.empty() && !each.node_type.empty();
    });
  };
  line("named before ", named());
  request.infer();
  line("named behind ", named());
}

}  // namespace
}  // namespace requests_programs

void kept_requests() {
  ov::Core core;
  requests_programs::callbacks(core);
  requests_programs::tensors(core);
  requests_programs::threads(core);
  requests_programs::beams(core);
  requests_programs::steps(core);
  line("maps ", ov::Any(ov::AnyMap{}).as<std::string>(), '|', ov::Any(std::map<std::string, int>{}).as<std::string>());
}
