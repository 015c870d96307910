// SPDX-License-Identifier: Apache-2.0
// Programs of the form that the original's samples have: a model's file, pictures, one request or many, callbacks, devices and their properties.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "openvino/openvino.hpp"
#include "openvino/opsets/opset8.hpp"

#include "programs.hpp"

namespace {

/// A model's file, which goes with it.
class File {
 public:
  explicit File(const std::shared_ptr<ov::Model>& model)
      : folder_(std::filesystem::temp_directory_path() / ("tenon_samples_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    ov::serialize(model, path());
  }
  ~File() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path() const { return (folder_ / "model.xml").string(); }

 private:
  std::filesystem::path folder_;
};

std::vector<float> numbers(std::size_t count, int modulus, float scale) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(static_cast<int>(i * 7 % static_cast<std::size_t>(modulus)) - modulus / 2) * scale;
  return values;
}

/// Pictures of 8 x 8 in three channels, five classes.
std::shared_ptr<ov::Model> classifier() {
  using namespace ov::opset8;
  auto image = std::make_shared<Parameter>(ov::element::f32, ov::PartialShape{1, 3, 8, 8});
  image->set_friendly_name("image");
  image->output(0).set_names({"image"});
  auto filters = std::make_shared<Constant>(ov::element::f32, ov::Shape{4, 3, 3, 3}, numbers(108, 11, 0.05F));
  auto convolution = std::make_shared<Convolution>(image, filters, ov::Strides{1, 1}, ov::CoordinateDiff{1, 1},
                                                   ov::CoordinateDiff{1, 1}, ov::Strides{1, 1});
  auto relu = std::make_shared<Relu>(convolution);
  auto pool =
      std::make_shared<ov::op::v1::MaxPool>(relu, ov::Strides{2, 2}, ov::Shape{0, 0}, ov::Shape{0, 0}, ov::Shape{2, 2},
                                            ov::op::RoundingType::FLOOR, ov::op::PadType::EXPLICIT);
  auto flat = std::make_shared<Reshape>(
      pool, std::make_shared<Constant>(ov::element::i64, ov::Shape{2}, std::vector<std::int64_t>{0, -1}), true);
  auto weights = std::make_shared<Constant>(ov::element::f32, ov::Shape{5, 64}, numbers(320, 13, 0.02F));
  auto scores = std::make_shared<MatMul>(flat, weights, false, true);
  auto softmax = std::make_shared<Softmax>(scores, 1);
  softmax->set_friendly_name("probabilities");
  softmax->output(0).set_names({"probabilities"});
  return std::make_shared<ov::Model>(ov::OutputVector{softmax->output(0)}, ov::ParameterVector{image}, "classifier");
}

void print_top(const ov::Tensor& tensor, std::size_t count) {
  const float* scores = tensor.data<const float>();
  std::vector<unsigned> order(tensor.get_size());
  std::iota(order.begin(), order.end(), 0U);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](unsigned a, unsigned b) { return scores[a] > scores[b]; });
  for (std::size_t i = 0; i < count; ++i) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", static_cast<double>(scores[order[i]]));
    line("class ", order[i], ' ', text);
  }
}

/// A picture of bytes, as a decoder gives it.
ov::Tensor picture(const ov::element::Type& type, const ov::Shape& shape, int seed) {
  ov::Tensor tensor(type, shape);
  auto* bytes = tensor.data<std::uint8_t>();
  for (std::size_t i = 0; i < tensor.get_byte_size(); ++i)
    bytes[i] = static_cast<std::uint8_t>((i * 31 + static_cast<std::size_t>(seed) * 17) % 251);
  return tensor;
}

void classification() {
  const File file(classifier());
  ov::Core core;
  std::shared_ptr<ov::Model> model = core.read_model(file.path());
  line("model ", model->get_friendly_name(), ' ', model->inputs().size(), ' ', model->outputs().size());
  for (const ov::Output<ov::Node>& input : model->inputs())
    line("input ", input.get_any_name(), ' ', input.get_element_type(), ' ', input.get_shape());
  for (const ov::Output<ov::Node>& output : model->outputs())
    line("output ", output.get_any_name(), ' ', output.get_element_type(), ' ', output.get_shape());
  OPENVINO_ASSERT(model->inputs().size() == 1, "the sample has one input only");
  ov::preprocess::PrePostProcessor ppp(model);
  const ov::Tensor input_tensor = picture(ov::element::u8, {1, 16, 16, 3}, 1);
  ppp.input().tensor().set_shape(input_tensor.get_shape()).set_element_type(ov::element::u8).set_layout("NHWC");
  ppp.input()
      .preprocess()
      .convert_element_type(ov::element::f32)
      .resize(ov::preprocess::ResizeAlgorithm::RESIZE_LINEAR);
  ppp.input().preprocess().scale(255.0F);
  ppp.input().model().set_layout("NCHW");
  ppp.output().tensor().set_element_type(ov::element::f32);
  model = ppp.build();
  ov::CompiledModel compiled_model = core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32));
  ov::InferRequest infer_request = compiled_model.create_infer_request();
  infer_request.set_input_tensor(input_tensor);
  infer_request.infer();
  print_top(infer_request.get_output_tensor(), 3);
}

void asynchronous_classification() {
  const File file(classifier());
  ov::Core core;
  auto model = core.read_model(file.path());
  ov::preprocess::PrePostProcessor ppp(model);
  ppp.input().tensor().set_element_type(ov::element::u8).set_layout("NHWC");
  ppp.input().model().set_layout("NCHW");
  ppp.input().preprocess().convert_element_type(ov::element::f32).scale(255.0F);
  model = ppp.build();
  const ov::Layout tensor_layout{"NHWC"};
  const std::size_t batch_size = 2;
  ov::layout::set_layout(model->input(), tensor_layout);
  ov::set_batch(model, batch_size);
  line("batch ", model->input().get_shape()[ov::layout::batch_idx(tensor_layout)], ' ', model->input().get_shape());
  auto compiled_model = core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32));
  auto infer_request = compiled_model.create_infer_request();
  ov::Tensor input_tensor = infer_request.get_input_tensor();
  for (std::size_t image_id = 0; image_id < batch_size; ++image_id) {
    const ov::Tensor one = picture(ov::element::u8, {8, 8, 3}, static_cast<int>(image_id));
    std::memcpy(input_tensor.data<std::uint8_t>() + image_id * one.get_byte_size(), one.data(), one.get_byte_size());
  }
  // As many times as the callback asks for.
  std::size_t iterations = 0;
  std::condition_variable done;
  std::mutex mutex;
  std::exception_ptr exception_var;
  infer_request.set_callback([&](std::exception_ptr error) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (error) {
      exception_var = error;
      done.notify_one();
      return;
    }
    ++iterations;
    if (iterations < 10)
      infer_request.start_async();
    else
      done.notify_one();
  });
  infer_request.start_async();
  std::unique_lock<std::mutex> lock(mutex);
  done.wait(lock, [&] {
    if (exception_var) std::rethrow_exception(exception_var);
    return iterations == 10;
  });
  lock.unlock();
  infer_request.wait();
  line("iterations ", iterations);
  ov::Tensor output = infer_request.get_output_tensor();
  line("outputs ", output.get_shape());
  for (std::size_t image_id = 0; image_id < batch_size; ++image_id)
    print_top(ov::Tensor(output, {image_id, 0}, {image_id + 1, 5}), 2);
}

/// Boxes that a model finds, of a shape of input that changes.
void reshaped_detection() {
  using namespace ov::opset8;
  auto image = std::make_shared<Parameter>(ov::element::f32, ov::PartialShape{1, 3, 4, 4});
  image->output(0).set_names({"image"});
  auto axes = std::make_shared<Constant>(ov::element::i64, ov::Shape{3}, std::vector<std::int64_t>{1, 2, 3});
  auto mean = std::make_shared<ReduceMean>(image, axes, true);
  auto offsets = std::make_shared<Constant>(ov::element::f32, ov::Shape{1, 8}, std::vector<float>(8, 0.0F));
  auto scores =
      std::make_shared<Constant>(ov::element::f32, ov::Shape{1, 4}, std::vector<float>{0.1F, 0.9F, 0.3F, 0.7F});
  auto flat = std::make_shared<Reshape>(
      mean, std::make_shared<Constant>(ov::element::i64, ov::Shape{2}, std::vector<std::int64_t>{1, 1}), false);
  auto confidences = std::make_shared<Multiply>(scores, flat);
  auto priors = std::make_shared<Constant>(ov::element::f32, ov::Shape{1, 2, 8},
                                           std::vector<float>{0.1F, 0.1F, 0.5F, 0.5F, 0.5F, 0.5F, 0.9F, 0.9F, 0.1F,
                                                              0.1F, 0.2F, 0.2F, 0.1F, 0.1F, 0.2F, 0.2F});
  ov::op::v0::DetectionOutput::Attributes attributes;
  attributes.num_classes = 2;
  attributes.background_label_id = 0;
  attributes.top_k = 10;
  attributes.keep_top_k = {4};
  attributes.code_type = "caffe.PriorBoxParameter.CENTER_SIZE";
  attributes.nms_threshold = 0.5F;
  attributes.confidence_threshold = 0.2F;
  attributes.normalized = true;
  attributes.share_location = true;
  auto detection = std::make_shared<ov::op::v0::DetectionOutput>(offsets, confidences, priors, attributes);
  detection->output(0).set_names({"detection_out"});
  auto built = std::make_shared<ov::Model>(ov::OutputVector{detection}, ov::ParameterVector{image}, "ssd");

  const File file(built);
  ov::Core core;
  auto model = core.read_model(file.path());
  OPENVINO_ASSERT(model->outputs().size() == 1, "one output only");
  ov::Shape shape = model->input().get_shape();
  const ov::Layout layout{"NCHW"};
  shape[ov::layout::height_idx(layout)] = 6;
  shape[ov::layout::width_idx(layout)] = 8;
  model->reshape({{model->input().get_any_name(), shape}});
  line("reshaped ", model->input().get_shape(), ' ', model->output().get_shape());
  ov::CompiledModel compiled = core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32));
  ov::InferRequest request = compiled.create_infer_request();
  ov::Tensor input = request.get_input_tensor();
  std::fill_n(input.data<float>(), input.get_size(), 1.0F);
  request.infer();
  ov::Tensor output = request.get_output_tensor();
  const ov::Shape found = output.get_shape();
  line("detections ", found);
  const float* boxes = output.data<const float>();
  for (std::size_t i = 0; i < found[2] && boxes[i * found[3]] >= 0; ++i) {
    char text[96];
    const float* box = boxes + i * found[3];
    std::snprintf(text, sizeof text, "%d %.2f %.2f %.2f %.2f %.2f", static_cast<int>(box[1]),
                  static_cast<double>(box[2]), static_cast<double>(box[3]), static_cast<double>(box[4]),
                  static_cast<double>(box[5]), static_cast<double>(box[6]));
    line(text);
  }
}

void nv12_input() {
  const File file(classifier());
  ov::Core core;
  std::shared_ptr<ov::Model> model = core.read_model(file.path());
  ov::preprocess::PrePostProcessor ppp(model);
  ppp.input()
      .tensor()
      .set_element_type(ov::element::u8)
      .set_color_format(ov::preprocess::ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_spatial_static_shape(8, 8);
  ppp.input()
      .preprocess()
      .convert_color(ov::preprocess::ColorFormat::BGR)
      .convert_element_type(ov::element::f32)
      .scale(255.0F);
  ppp.input().model().set_layout("NCHW");
  model = ppp.build();
  for (const auto& input : model->inputs()) line("plane ", input.get_any_name(), ' ', input.get_partial_shape());
  ov::CompiledModel compiled = core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32));
  ov::InferRequest request = compiled.create_infer_request();
  request.set_tensor("image/y", picture(ov::element::u8, {1, 8, 8, 1}, 3));
  request.set_tensor("image/uv", picture(ov::element::u8, {1, 4, 4, 2}, 4));
  request.infer();
  print_top(request.get_output_tensor(), 2);
}

/// Devices, and what can be asked of them. Values are the device's own; that they can be read and printed is not.
void query_devices() {
  ov::Core core;
  const std::vector<std::string> devices = core.get_available_devices();
  line("CPU is there ", std::find(devices.begin(), devices.end(), "CPU") != devices.end());
  std::size_t readable = 0, changeable = 0;
  const auto supported = core.get_property("CPU", ov::supported_properties);
  for (const ov::PropertyName& property : supported) {
    if (property == ov::supported_properties.name()) continue;
    const ov::Any value = core.get_property("CPU", property);
    std::ostringstream text;
    value.print(text);
    readable += value.empty() ? 0 : 1;
    changeable += property.is_mutable() ? 1 : 0;
  }
  line("all readable ", readable + 1 == supported.size(), ", some changeable ", changeable > 0);
  for (const char* name : {"FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES", "NUM_STREAMS", "PERFORMANCE_HINT",
                           "RANGE_FOR_STREAMS", "INFERENCE_PRECISION_HINT"})
    line(name, ' ', std::find(supported.begin(), supported.end(), name) != supported.end());
}

/// As many requests as the device wants, all busy, by callbacks: the loop of a benchmark.
class InferRequestsQueue final {
 public:
  InferRequestsQueue(ov::CompiledModel& model, std::size_t count) {
    for (std::size_t id = 0; id < count; ++id) {
      requests_.push_back(model.create_infer_request());
      requests_.back().set_callback([this, id](std::exception_ptr error) { put_idle(id, std::move(error)); });
      idle_.push(id);
    }
  }
  ~InferRequestsQueue() { wait_all(); }
  ov::InferRequest& get_idle() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return error_ || !idle_.empty(); });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    const std::size_t id = idle_.front();
    idle_.pop();
    return requests_[id];
  }
  void wait_all() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return idle_.size() == requests_.size(); });
  }
  std::size_t finished() const { return finished_; }

 private:
  void put_idle(std::size_t id, std::exception_ptr error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (error && !error_) error_ = std::move(error);
    ++finished_;
    idle_.push(id);
    changed_.notify_one();
  }
  std::vector<ov::InferRequest> requests_;
  std::queue<std::size_t> idle_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::size_t> finished_{0};
  std::exception_ptr error_;
};

void benchmark() {
  const File file(classifier());
  ov::Core core;
  core.set_property("CPU", ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT));
  ov::CompiledModel compiled = core.compile_model(file.path(), "CPU", ov::enable_profiling(false));
  const auto wanted = compiled.get_property(ov::optimal_number_of_infer_requests);
  line("some requests ", wanted > 0, ", name ", compiled.get_property(ov::model_name));
  InferRequestsQueue requests(compiled, std::max<std::uint32_t>(wanted, 2));
  for (int i = 0; i < 50; ++i) {
    ov::InferRequest& request = requests.get_idle();
    ov::Tensor input = request.get_input_tensor();
    std::fill_n(input.data<float>(), input.get_size(), static_cast<float>(i % 3));
    request.start_async();
  }
  requests.wait_all();
  line("finished ", requests.finished());

  // A failure in a callback's inference is the callback's argument; wait() throws it, too.
  ov::InferRequest refused_request = compiled.create_infer_request();
  refused("a tensor of another shape", [&] {
    refused_request.set_input_tensor(ov::Tensor(ov::element::f32, {1, 3, 4, 4}));
  });
  // Requests by futures.
  std::promise<std::size_t> promise;
  ov::InferRequest request = compiled.create_infer_request();
  request.set_callback([&](std::exception_ptr error) {
    if (error)
      promise.set_exception(error);
    else
      promise.set_value(request.get_output_tensor().get_size());
  });
  request.start_async();
  line("by a future ", promise.get_future().get());
  request.wait();
}

/// A model of language in small: what it has seen is in a state that grows, and that the order of beams selects from.
std::shared_ptr<ov::Model> language_model() {
  using namespace ov::opset8;
  constexpr std::size_t kWords = 11, kSize = 4;
  const auto named = [](const ov::element::Type& type, const ov::PartialShape& shape, const std::string& name) {
    auto input = std::make_shared<Parameter>(type, shape);
    input->set_friendly_name(name);
    input->output(0).set_names({name});
    return input;
  };
  auto ids = named(ov::element::i64, {1, -1}, "input_ids"), mask = named(ov::element::i64, {1, -1}, "attention_mask");
  auto beams = named(ov::element::i32, {1}, "beam_idx");
  auto zero = Constant::create(ov::element::i64, {}, {0}), one = Constant::create(ov::element::i64, {}, {1});
  auto words = std::make_shared<Constant>(ov::element::f32, ov::Shape{kWords, kSize}, numbers(kWords * kSize, 9, 0.5F));
  auto embedded = std::make_shared<Gather>(words, ids, zero);
  auto variable = std::make_shared<ov::op::util::Variable>(
      ov::op::util::VariableInfo{ov::PartialShape{1, -1, kSize}, ov::element::f32, "past"});
  auto past = std::make_shared<ReadValue>(variable);  // It begins with no words.
  auto chosen = std::make_shared<Gather>(past, beams, zero);
  auto all = std::make_shared<Concat>(ov::OutputVector{chosen, embedded}, 1);
  auto assign = std::make_shared<Assign>(all, variable);
  // Words weigh as the mask says.
  auto weights = std::make_shared<Unsqueeze>(std::make_shared<Convert>(mask, ov::element::f32),
                                             Constant::create(ov::element::i64, {1}, {2}));
  auto summed = std::make_shared<ReduceSum>(std::make_shared<Multiply>(all, weights), one, true);
  auto mixed = std::make_shared<Add>(embedded, std::make_shared<Tanh>(summed));
  auto logits = std::make_shared<MatMul>(
      mixed, std::make_shared<Constant>(ov::element::f32, ov::Shape{kWords, kSize}, numbers(kWords * kSize, 13, 0.3F)),
      false, true);
  logits->output(0).set_names({"logits"});
  return std::make_shared<ov::Model>(ov::OutputVector{logits}, ov::SinkVector{assign},
                                     ov::ParameterVector{ids, mask, beams}, ov::op::util::VariableVector{variable},
                                     "language_model");
}
void generation() {
  const File file(language_model());
  ov::Core core;
  const auto model = core.read_model(file.path());
  line("states ", model->get_variables().size(), ' ', model->get_sinks().size());
  ov::InferRequest request =
      core.compile_model(model, "CPU", ov::AnyMap{{ov::hint::inference_precision.name(), ov::element::f32}})
          .create_infer_request();
  const auto generate = [&](std::vector<std::int64_t> prompt, std::size_t count) {
    std::ostringstream text;
    std::vector<std::int64_t> next = prompt;
    request.get_tensor("beam_idx").data<std::int32_t>()[0] = 0;
    std::size_t seen = 0;
    for (std::size_t i = 0; i < count; ++i) {
      ov::Tensor ids = request.get_tensor("input_ids");
      ids.set_shape({1, next.size()});
      std::copy(next.begin(), next.end(), ids.data<std::int64_t>());
      seen += next.size();
      ov::Tensor mask = request.get_tensor("attention_mask");
      mask.set_shape({1, seen});
      std::fill_n(mask.data<std::int64_t>(), seen, 1);
      request.infer();
      const ov::Tensor logits = request.get_tensor("logits");
      const std::size_t words = logits.get_shape().back();
      const float* last = logits.data<const float>() + (logits.get_shape()[1] - 1) * words;
      next = {std::max_element(last, last + words) - last};
      text << ' ' << next[0];
    }
    line("words", text.str(), " of state ", request.query_state().at(0).get_state().get_shape());
    for (auto& state : request.query_state()) state.reset();
  };
  generate({1, 5, 2}, 6);
  generate({1, 5, 2}, 6);  // The same again, since the state was reset.
  generate({3, 8}, 4);
}

}  // namespace

void samples() {
  classification();
  asynchronous_classification();
  reshaped_detection();
  nv12_input();
  query_devices();
  benchmark();
  generation();
}
