// SPDX-License-Identifier: Apache-2.0
// Errors by class, and by the parts of their texts that programs look for.
#include <atomic>
#include <chrono>
#include <thread>

#include "programs.hpp"

void errors() {
  ov::Core core;
  const auto model = small_model(core);
  refused(
      "unknown device", [&] { core.compile_model(model, "XYZ"); }, "XYZ", "is not registered in the OpenVINO Runtime");
  refused(
      "missing file", [&] { core.read_model("/nowhere/model.xml"); }, "/nowhere/model.xml");
  refused("no model", [&] { core.read_model(std::string("<net"), ov::Tensor()); });
  refused(
      "unknown property", [&] { core.get_property("CPU", "NO_SUCH_KEY"); }, "NO_SUCH_KEY");
  refused(
      "unknown property to set",
      [&] {
        core.set_property("CPU", {{"NO_SUCH_KEY", 1}});
      },
      "NO_SUCH_KEY");
  refused("default context of the CPU", [&] { core.get_default_context("CPU"); });
  refused(
      "null context", [&] { core.compile_model(model, ov::RemoteContext()); }, "Remote context is null");
  ov::CompiledModel compiled = core.compile_model(model, "CPU");
  refused("unknown name", [&] { compiled.input("nope"); });
  refused("context of the CPU", [&] { compiled.get_context(); });
  refused(
      "unknown property of a model", [&] { compiled.get_property("NO_SUCH_KEY"); }, "NO_SUCH_KEY");
  ov::InferRequest request = compiled.create_infer_request();
  refused(
      "unknown tensor", [&] { request.get_tensor("nope"); }, "Port for tensor name nope was not found.");
  refused(
      "unknown index",
      [&] {
        request.set_input_tensor(5, ov::Tensor(ov::element::f32, {1, 3, 4, 4}));
      },
      "Input port for index 5 was not found!", "The model has only 1 inputs.");
  refused("wrong shape", [&] { request.set_tensor("x", ov::Tensor(ov::element::f32, {1, 3, 4, 5})); });
  refused("wrong type", [&] { request.set_tensor("x", ov::Tensor(ov::element::i32, {1, 3, 4, 4})); });
  refused("empty tensor", [&] { request.set_tensor("x", ov::Tensor()); });
  refused("foreign port", [&] {
    const auto other = small_model(core, "7");
    request.set_tensor(other->input(), ov::Tensor(ov::element::f32, {1, 3, 4, 4}));
  });
  refused(
      "empty request", [] { ov::InferRequest().infer(); }, "InferRequest was not initialized.");
  refused(
      "empty model", [] { ov::CompiledModel().create_infer_request(); }, "CompiledModel was not initialized.");
  refused("foreign blob", [&] {
    std::stringstream blob("no blob");
    core.import_model(blob, "CPU");
  });
  refused("text for a number", [] { ov::AnyMap map{ov::hint::num_requests("many")}; });
  refused(
      "negative number", [] { ov::AnyMap map{ov::hint::num_requests(-1)}; }, "Cannot assign negative value");
  refused(
      "bad mode",
      [&] {
        core.compile_model(model, "CPU", {{"PERFORMANCE_HINT", "FASTEST"}});
      },
      "FASTEST");
  refused(
      "assertion", [] { OPENVINO_ASSERT(1 > 2, "one is not more than ", 2); }, "1 > 2", "one is not more than 2");
  refused(
      "throw", [] { OPENVINO_THROW("text ", 5); }, "text 5");
  refused("bare assertion", [] { OPENVINO_ASSERT(false); });
  try {
    OPENVINO_ASSERT(false, "text");
  } catch (const ov::AssertFailure&) {
    line("an AssertFailure");
  }

  // A request is busy while it runs: the callback holds it.
  std::atomic<bool> go{false};
  std::atomic<bool> running{false};
  request.set_callback([&](std::exception_ptr) {
    running = true;
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  request.start_async();
  while (!running) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  refused(
      "start while running", [&] { request.start_async(); }, "Infer Request is busy");
  refused("set while running", [&] { request.set_tensor("x", ov::Tensor(ov::element::f32, {1, 3, 4, 4})); });
  refused("get while running", [&] { request.get_tensor("x"); });
  line("not done ", request.wait_for(std::chrono::milliseconds(0)));
  go = true;
  request.wait();
  line("usable again");
  request.set_callback({});
  request.infer();
}
