// SPDX-License-Identifier: Apache-2.0
// Models whose shapes move on the GPU device, and decoders, on command, line by line (./dev bench gpu). An input "past_X" with an output
// "present_X" becomes a state. Every answer is a line of JSON.
//
//   device                      its name, and the bytes a second at which it copies its memory
//   load PATH PRECISION [FOLDER] reads and compiles, with CACHE_DIR if a folder is named; answers the ms of both
//   profile PATH PRECISION [N]  as load, or as fixed; each kernel of what follows is timed
//   fixed PATH PRECISION N      as load; every open dimension has this extent
//   infer N...                  one inference for each N, the extent of every open dimension; answers for each the ms until its result is
//                               there, and those for which enqueueing it blocked the caller
//   trace FILE N...             as infer, with a trace, which goes to that file
//   settle N...                 infers these again and again from the states' initial values, until the device has found out how kernels get
//                               into a queue best, for which CUDA's compiler may have to end first; answers the ms, a minute at most, and the way
//   reset                       the states take their initial values
//   kernels                     of the last inference: launches, their ms, and the same by kind, the longest first
//   launches FILE               of the last inference: a line for each launch, with its us, its kind, and its node
//   output FILE                 writes the first output of the last inference as f32; answers its shape
//   memory                      the bytes that the device's own buffers have
//   quit
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <istream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <tenon/bench/worker.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/public/ocl.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/roofline.hpp>

namespace {

using namespace tenon;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// As OpenVINO's MakeStateful: what an inference gives as present_X, the next one reads as past_X, which is empty at first.
void make_states(Model& model) {
  const ParameterVector parameters = model.get_parameters();
  const ResultVector results = model.get_results();
  SinkVector sinks;
  for (const auto& parameter : parameters) {
    const std::string name = parameter->output(0).get_any_name();
    if (name.rfind("past_", 0) != 0) continue;
    const std::string id = name.substr(5);
    const auto result = std::find_if(results.begin(), results.end(), [&](const auto& each) {
      return each->output(0).get_any_name() == "present_" + id;
    });
    if (result == results.end()) throw Error(Code::kInvalidArgument, name + " has no output present_" + id);
    const auto state = make_node("ReadValue", 6, {},
                                 {{"variable_id", id},
                                  {"variable_type", ElementType::kF32},
                                  {"variable_shape", parameter->get_partial_shape()}});
    sinks.push_back(make_node("Assign", 6, {(*result)->input_value(0)}, {{"variable_id", id}}));
    parameter->output(0).replace(state->output(0));
    model.remove_result(*result);
    model.remove_parameter(parameter);
  }
  model.add_sinks(sinks);
  model.validate_nodes_and_infer_types();
}

Shape shape_of(const Output<const Node>& port, std::size_t extent) {
  Shape shape;
  for (const auto& dimension : port.get_partial_shape())
    shape.push_back(dimension.is_dynamic() ? extent : static_cast<std::size_t>(dimension.get_length()));
  return shape;
}

class Worker {
 public:
  void load(const std::string& path, const std::string& precision, const std::string& folder, bool profiles,
            std::size_t extent) {
    request_ = {};
    compiled_ = {};
    auto start = Clock::now();
    auto model = core_.read_model(path);
    make_states(*model);
    if (extent != 0) {
      std::map<std::size_t, PartialShape> shapes;
      for (std::size_t i = 0; i < model->inputs().size(); ++i)
        shapes[i] = PartialShape(shape_of(model->input(i), extent));
      model->reshape(shapes);
    }
    const double read_ms = ms_since(start);
    start = Clock::now();
    AnyMap settings{hint::inference_precision(Any(precision).as<element::Type>()), enable_profiling(profiles)};
    if (!folder.empty()) settings.insert(cache_dir(folder));
    compiled_ = core_.compile_model(model, "GPU", settings);
    model.reset();
    request_ = compiled_.create_infer_request();
    const double compile_ms = ms_since(start);
    // The last token's logits stay in the device's memory.
    logits_ = {};
    const auto port = compiled_.output(0);
    if (port.get_any_name() == "logits" && port.get_partial_shape().is_static()) {
      auto context = compiled_.get_context().as<intel_gpu::ocl::ClContext>();
      logits_ = context.create_tensor(port.get_element_type(), port.get_shape());
      request_.set_tensor(port, logits_);
    }
    std::printf("{\"read_ms\": %.1f, \"compile_ms\": %.1f}\n", read_ms, compile_ms);
  }

  void infer(std::istream& extents) {
    std::string all, host;
    for (std::size_t extent = 0; extents >> extent;) {
      std::vector<Tensor> inputs;  // As those of torch, made before.
      for (const auto& port : compiled_.inputs()) inputs.push_back(filled(port, extent));
      const auto start = Clock::now();
      {
        const TraceSpan span("token", "bench");
        for (std::size_t i = 0; i < inputs.size(); ++i) request_.set_tensor(compiled_.input(i), inputs[i]);
        {
          const TraceSpan enqueued("start", "bench");
          request_.start_async();
        }
        append(host, ms_since(start));
        request_.wait();
      }
      append(all, ms_since(start));
    }
    std::printf("{\"ms\": [%s], \"host_ms\": [%s]}\n", all.c_str(), host.c_str());
  }

  void trace(const std::string& path, std::istream& extents) {
    Trace::start();
    infer(extents);
    Trace::stop();
    Trace::write(path);
  }

  void settle(std::istream& extents) {
    const std::vector<std::size_t> all{std::istream_iterator<std::size_t>(extents), {}};
    const auto start = Clock::now();
    while (compiled_.get_property("GPU_LAUNCHES").as<std::string>() == "AUTO" && ms_since(start) < 60e3) {
      request_.reset_state();
      for (const std::size_t extent : all) {
        for (const auto& port : compiled_.inputs()) request_.set_tensor(port, filled(port, extent));
        request_.infer();
      }
    }
    std::printf("{\"ms\": %.1f, \"way\": \"%s\"}\n", ms_since(start),
                compiled_.get_property("GPU_LAUNCHES").as<std::string>().c_str());
  }

  void reset() {
    request_.reset_state();
    std::printf("{}\n");
  }

  void kernels() const {
    std::map<std::string, std::pair<double, int>> kinds;
    double sum = 0;
    int count = 0;
    for (const auto& info : request_.get_profiling_info()) {
      if (info.exec_type.empty()) continue;  // Fused into another.
      const double ms = static_cast<double>(info.real_time.count()) / 1000;
      auto& kind = kinds[info.exec_type];
      kind.first += ms;
      ++kind.second;
      sum += ms;
      ++count;
    }
    std::vector<std::pair<double, std::string>> sorted;
    for (const auto& [name, kind] : kinds) {
      char text[200];
      std::snprintf(text, sizeof text, "[\"%s\", %d, %.4f]", name.c_str(), kind.second, kind.first);
      sorted.emplace_back(kind.first, text);
    }
    std::sort(sorted.rbegin(), sorted.rend());
    std::string text;
    for (const auto& [ms, each] : sorted) text += (text.empty() ? "" : ", ") + each;
    std::printf("{\"launches\": %d, \"ms\": %.4f, \"kinds\": [%s]}\n", count, sum, text.c_str());
  }

  void launches(const std::string& path) const {
    std::ofstream file(path);
    for (const auto& info : request_.get_profiling_info())
      if (!info.exec_type.empty())
        file << info.real_time.count() << ' ' << info.exec_type << ' ' << info.node_type << ' ' << info.node_name
             << '\n';
    std::printf("{}\n");
  }

  void output(const std::string& path) {
    Tensor host = logits_ ? Tensor(logits_.get_element_type(), logits_.get_shape()) : request_.get_output_tensor(0);
    if (logits_) logits_.copy_to(host);
    std::ofstream(path, std::ios::binary)
        .write(static_cast<const char*>(host.data()), static_cast<std::streamsize>(host.get_byte_size()));
    std::string text;
    for (const std::size_t extent : host.get_shape()) text += (text.empty() ? "" : ", ") + std::to_string(extent);
    std::printf("{\"shape\": [%s]}\n", text.c_str());
  }

  void device() {
    std::printf("{\"name\": \"%s\", \"bytes_per_s\": %.4g}\n", core_.get_property("GPU", device::full_name).c_str(),
                core_.get_property("GPU", device::memory_bandwidth));
  }

  void memory() {
    std::uint64_t bytes = 0;
    for (const auto& [kind, held] : core_.get_property("GPU", intel_gpu::memory_statistics)) bytes += held;
    std::printf("{\"bytes\": %llu, \"host_bytes\": %lld}\n", static_cast<unsigned long long>(bytes),
                1024LL * bench::status_kb("VmRSS:"));
  }

 private:
  static void append(std::string& list, double ms) {
    char text[32];
    std::snprintf(text, sizeof text, "%s%.4f", list.empty() ? "" : ", ", ms);
    list += text;
  }

  /// What bench/gpu/torch_peers.py gives torch: ids of up to 61 words, masks of ones, and 251 grey values.
  static Tensor filled(const Output<const Node>& port, std::size_t extent) {
    Tensor tensor(port.get_element_type(), shape_of(port, extent));
    const bool is_mask = port.get_any_name() == "attention_mask";
    for (std::size_t i = 0; i < tensor.get_size(); ++i) {
      if (tensor.get_element_type() == element::i64)
        tensor.data<std::int64_t>()[i] = is_mask ? 1 : static_cast<std::int64_t>(i % 61);
      else
        tensor.data<float>()[i] = static_cast<float>(i % 251) / 251;
    }
    return tensor;
  }

  Core core_;
  CompiledModel compiled_;
  InferRequest request_;
  RemoteTensor logits_;
};

}  // namespace

int main() {
  Worker worker;
  return bench::serve([&](const std::string& verb, std::istream& words) {
    std::string path, precision, folder;
    std::size_t extent = 0;
    if (verb == "load" || verb == "profile" || verb == "fixed") {
      words >> path >> precision;
      if (verb == "load")
        words >> folder;
      else
        words >> extent;
      worker.load(path, precision, folder, verb == "profile", extent);
    } else if (verb == "infer") {
      worker.infer(words);
    } else if (verb == "trace") {
      words >> path;
      worker.trace(path, words);
    } else if (verb == "settle") {
      worker.settle(words);
    } else if (verb == "reset") {
      worker.reset();
    } else if (verb == "kernels") {
      worker.kernels();
    } else if (verb == "launches") {
      words >> path;
      worker.launches(path);
    } else if (verb == "output") {
      words >> path;
      worker.output(path);
    } else if (verb == "device") {
      worker.device();
    } else if (verb == "memory") {
      worker.memory();
    } else {
      return false;
    }
    return true;
  });
}
