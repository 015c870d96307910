// SPDX-License-Identifier: Apache-2.0
// Requests: tensors by name, port and index; synchronous and not; callbacks; states; blobs.
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <openvino/pass/manager.hpp>
#include <openvino/pass/serialize.hpp>

#include "programs.hpp"

namespace {

ov::Tensor filled(float first) {
  ov::Tensor tensor(ov::element::f32, {1, 3, 4, 4});
  for (std::size_t i = 0; i < tensor.get_size(); ++i) tensor.data<float>()[i] = first + static_cast<float>(i);
  return tensor;
}

void requests() {
  ov::Core core;
  const auto model = small_model(core);
  ov::CompiledModel compiled = core.compile_model(model, "CPU", ov::enable_profiling(true));
  line(compiled.inputs().size(), ' ', compiled.input().get_any_name(), ' ', compiled.output("y").get_shape(), ' ',
       compiled.input("x") == compiled.input(0));
  ov::InferRequest request = compiled.create_infer_request();
  request.set_tensor("x", filled(-5));
  request.infer();
  print_values("by name", request.get_tensor("y"));
  request.set_tensor(model->input(), filled(0));
  request.infer();
  print_values("by the model's port", request.get_tensor(model->output()));
  request.set_tensor(compiled.input(), filled(1));
  request.infer();
  print_values("by the compiled model's port", request.get_output_tensor());
  request.set_tensor(model->get_parameters()[0], filled(2));
  request.infer();
  print_values("by parameter", request.get_tensor(model->get_results()[0]));
  request.set_input_tensor(0, filled(3));
  ov::Tensor mine(ov::element::f32, {1, 3, 4, 4});
  request.set_output_tensor(mine);
  request.infer();
  print_values("into my tensor", mine);
  line(request.get_output_tensor(0).data() == mine.data(), ' ',
       request.get_tensor("x").data() == request.get_input_tensor().data());
  ov::Tensor own = request.get_input_tensor(0);
  std::fill_n(own.data<float>(), own.get_size(), 100.0F);
  request.infer();
  print_values("filled in place", mine, 3);
  // Rows of a larger tensor.
  ov::Tensor large(ov::element::f32, {2, 3, 4, 4});
  std::fill_n(large.data<float>(), large.get_size(), 7.0F);
  request.set_input_tensor(ov::Tensor(large, {1, 0, 0, 0}, {2, 3, 4, 4}));
  request.infer();
  print_values("a region", mine, 2);

  std::atomic<int> called{0};
  request.set_callback([&](std::exception_ptr error) { called += error ? 100 : 1; });
  request.start_async();
  request.wait();
  line("called ", called.load());
  request.start_async();
  line("done ", request.wait_for(std::chrono::milliseconds(20000)));
  request.wait();
  line("called ", called.load());
  request.infer();
  line("called ", called.load());
  request.set_callback([](std::exception_ptr) { throw std::runtime_error("thrown by the callback"); });
  request.start_async();
  refused(
      "throwing callback", [&] { request.wait(); }, "thrown by the callback");
  request.set_callback({});
  request.infer();
  int rounds = 0;
  std::atomic<bool> finished{false};
  ov::InferRequest chained = compiled.create_infer_request();
  chained.set_callback([&](std::exception_ptr) {
    if (++rounds < 3)
      chained.start_async();
    else
      finished = true;
  });
  chained.start_async();
  while (!finished) chained.wait();
  chained.wait();
  line("rounds ", rounds);
  line(chained.get_compiled_model().inputs().size(), ' ', chained == request, chained != request, !chained);
  line(request.get_profiling_info().empty() ? "no profile" : "a profile");
  std::vector<ov::InferRequest> many;
  for (int i = 0; i < 4; ++i) {
    many.push_back(compiled.create_infer_request());
    many.back().set_input_tensor(filled(static_cast<float>(i)));
    many.back().start_async();
  }
  for (ov::InferRequest& each : many) {
    each.wait();
    print_values("one of many", each.get_output_tensor(), 2);
  }

  std::stringstream blob;
  compiled.export_model(blob);
  ov::InferRequest imported = core.import_model(blob, "CPU").create_infer_request();
  imported.set_input_tensor(filled(-5));
  imported.infer();
  print_values("imported", imported.get_output_tensor());
}

void states() {
  ov::Core core;
  ov::CompiledModel compiled = core.compile_model(stateful_model(core), "CPU");
  ov::InferRequest request = compiled.create_infer_request();
  ov::Tensor x(ov::element::f32, {1, 2});
  x.data<float>()[0] = 1;
  x.data<float>()[1] = 2;
  request.set_input_tensor(x);
  for (int i = 0; i < 2; ++i) request.infer();
  print_values("sum", request.get_output_tensor());
  std::vector<ov::VariableState> states = request.query_state();
  line(states.size(), ' ', states[0].get_name());
  print_values("state", states[0].get_state());
  states[0].set_state(x);
  request.infer();
  print_values("after set_state", request.get_output_tensor());
  request.reset_state();
  request.infer();
  print_values("after reset", request.get_output_tensor());
  states[0].reset();
  request.infer();
  print_values("after the state's reset", request.get_output_tensor());
  refused("a state of another shape", [&] {
    states[0].set_state(ov::Tensor(ov::element::f32, {1, 3}));
    request.infer();
  });
}

void lifetimes() {
  ov::InferRequest request;
  {
    ov::Core core;
    request =
        core.compile_model(small_model(core), "CPU", ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY))
            .create_infer_request();
  }
  request.set_tensor("x", filled(0));
  request.infer();
  print_values("after its Core", request.get_output_tensor(), 2);
  const ov::Tensor kept = request.get_output_tensor();
  request = {};
  print_values("after its request", kept, 2);
}

/// Every way to name a file of a model.
void files() {
  ov::Core core;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ov_files_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::filesystem::path path = folder / "model.xml";
  const std::string text = path.string();
  const char* characters = text.c_str();
  ov::pass::Manager manager;
  manager.register_pass<ov::pass::Serialize>(text, (folder / "model.bin").string());
  manager.run_passes(small_model(core));
  const ov::AnyMap map{{ov::hint::performance_mode.name(), ov::hint::PerformanceMode::LATENCY}, ov::num_streams(1)};
  for (ov::CompiledModel compiled :
       {core.compile_model(path, "CPU"), core.compile_model(text, "CPU"), core.compile_model(characters, "CPU"),
        core.compile_model(path, "CPU", map), core.compile_model(text, "CPU", map),
        core.compile_model(characters, "CPU", map), core.compile_model(path, "CPU", ov::num_streams(1)),
        core.compile_model(text, "CPU", ov::num_streams(1)),
        core.compile_model(characters, "CPU", ov::num_streams(1), ov::hint::num_requests(1)),
        core.compile_model(core.read_model(path), "CPU", map),
        core.compile_model(core.read_model(text), "CPU", ov::num_streams(1)),
        core.compile_model(core.read_model(characters), "CPU")}) {
    ov::InferRequest request = compiled.create_infer_request();
    request.set_input_tensor(filled(-3));
    request.infer();
    print_values("from a file", request.get_output_tensor(), 3);
  }
  std::filesystem::remove_all(folder);
}

void many_inputs() {
  ov::Core core;
  auto model = small_model(core);
  ov::layout::set_layout(model->input(), "NCHW");
  ov::set_batch(model, 2);
  ov::InferRequest request = core.compile_model(model, "CPU").create_infer_request();
  request.set_tensors("x", {filled(0), filled(100)});
  request.infer();
  const ov::Tensor y = request.get_output_tensor();
  line(y.get_shape(), ' ', y.data<float>()[0], ' ', y.data<float>()[48]);
  refused("wrong number of items", [&] { request.set_tensors("x", {filled(0), filled(1), filled(2)}); });
  refused(
      "no items", [&] { request.set_tensors("x", {}); }, "can't be called with empty tensors");
}

}  // namespace

void inference() {
  requests();
  states();
  lifetimes();
  many_inputs();
  files();
}
