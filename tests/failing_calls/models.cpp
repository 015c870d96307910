// SPDX-License-Identifier: Apache-2.0
// Models and pipelines with each of their calls failing: reading, compiling, the cache, the first and the second inference on the CPU
// device, pipelines of a few frames.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <tenon/elements/pipeline.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/tests/failing_calls/each_call.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace {

using namespace tenon;
using tenon_test::Work;

std::string file(const std::string& name) {
  const char* const folder = std::getenv("TENON_MODELS");
  if (!folder) throw std::runtime_error("TENON_MODELS names no folder of models");
  return std::string(folder) + "/" + name;
}

void check(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("wrong: ") + what);
}

/// One for all work: what a program has.
Core& core() {
  static Core made;
  return made;
}

std::vector<float> infer(InferRequest& request) {
  Tensor image = request.get_input_tensor();
  for (std::size_t i = 0; i < image.element_count(); ++i) image.data<float>()[i] = static_cast<float>(i % 255) / 255.0f;
  request.infer();
  const Tensor out = request.get_output_tensor();
  return {out.data<float>(), out.data<float>() + out.element_count()};
}
/// As the first one, bit for bit.
void check_result(const std::vector<float>& result) {
  static const std::vector<float> expected = result;
  check(result == expected && result.size() == 12, "the result of an inference");
}

void read_ir() { check(core().read_model(file("colour.xml"))->outputs().size() == 1, "outputs of the IR"); }
void read_onnx() { check(!core().read_model(file("demo.onnx"))->outputs().empty(), "outputs of the ONNX model"); }

void compile() {
  static const std::shared_ptr<Model> model = core().read_model(file("colour.xml"));
  check(core().compile_model(model, "CPU").outputs().size() == 1, "outputs of the compiled model");
}

/// Compiles into an empty cache, and from what it has then.
void compile_cached() {
  static const TemporaryFolder folder;
  const std::string path = std::string(folder.path()) + "/cache";
  std::filesystem::remove_all(path);
  for (int i = 0; i < 2; ++i) {
    auto made = core().compile_model(file("colour.xml"), "CPU", AnyMap{{"CACHE_DIR", path}});
    auto request = made.create_infer_request();
    check_result(infer(request));
  }
}

void first_inference() {
  static CompiledModel model = core().compile_model(file("colour.xml"), "CPU");
  auto request = model.create_infer_request();
  check_result(infer(request));
}

void second_inference() {
  static InferRequest request = core().compile_model(file("colour.xml"), "CPU").create_infer_request();
  check_result(infer(request));
}

void asynchronous_inference() {
  static CompiledModel model = core().compile_model(file("colour.xml"), "CPU");
  auto request = model.create_infer_request();
  request.set_callback([](std::exception_ptr) {});
  request.start_async();
  request.wait();
  check_result(infer(request));
}

/// From nothing: the device's module is loaded, too.
void from_nothing() {
  Core fresh;
  auto request = fresh.compile_model(file("colour.xml"), "CPU").create_infer_request();
  check_result(infer(request));
}

void run_pipeline(const elements::PipelineSpec& spec) {
  elements::Pipeline pipeline(spec);
  pipeline.start();
  const bool has_ended = pipeline.wait(tenon::Clock::now() + std::chrono::seconds(20));
  pipeline.stop(tenon::Clock::now());
  const auto failures = pipeline.failures();
  if (!failures.empty() && failures[0].error) std::rethrow_exception(failures[0].error);
  check(failures.empty(), "a failure without an error");
  check(has_ended, "the pipeline does not end");
}

std::size_t lines_of(const std::string& path) {
  std::ifstream stream(path);
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(stream), {}, '\n'));
}

void pipeline() {
  static const TemporaryFolder folder;
  static const std::string path = std::string(folder.path()) + "/out.json";
  std::filesystem::remove(path);
  run_pipeline({{{"test", {}, {{"frames", "4"}, {"width", "64"}, {"height", "48"}}},
                 {"infer", {}, {{"model", file("colour.xml")}, {"requests", "2"}}},
                 {"json", {}, {{"path", path}}}}});
  check(lines_of(path) == 4, "lines of the pipeline");
  check(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1, "files beside the output");
}

void pipeline_of_a_file() {
  static const TemporaryFolder folder;
  static const std::string path = std::string(folder.path()) + "/out.json";
  std::filesystem::remove(path);
  elements::PipelineSpec spec{{{"file", {}, {{"path", file("demo.mp4")}}}, {"json", {}, {{"path", path}}}}};
  spec.frames = 3;
  run_pipeline(spec);
  check(lines_of(path) == 3, "lines of the pipeline");
  check(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1, "files beside the output");
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<Work> all{{"read_ir", read_ir},
                        {"read_onnx", read_onnx},
                        {"compile", compile},
                        {"compile_cached", compile_cached},
                        {"inference_first", first_inference},
                        {"inference_second", second_inference},
                        {"inference_asynchronous", asynchronous_inference},
                        {"pipeline", pipeline},
                        {"pipeline_of_a_file", pipeline_of_a_file},
                        {"from_nothing", from_nothing}};
  all.back().is_first = true;
  return tenon_test::main_of(all, count, arguments);
}
