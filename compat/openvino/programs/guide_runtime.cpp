// SPDX-License-Identifier: Apache-2.0
// Small programs of the form of the documentation's snippets: tensors, values of any type, properties, devices over devices, caches, states.
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include <openvino/op/util/variable.hpp>
#include <openvino/opsets/opset8.hpp>
#include <openvino/runtime/auto/properties.hpp>
#include <openvino/runtime/intel_cpu/properties.hpp>

#include "programs.hpp"

namespace guides {
namespace {

/// Counts what it gives, and aligns it.
struct CountingAllocator {
  std::shared_ptr<int> living = std::make_shared<int>(0);
  void* allocate(const std::size_t bytes, const std::size_t alignment = alignof(std::max_align_t)) {
    ++*living;
    return std::aligned_alloc(std::max<std::size_t>(alignment, 64), (bytes + 63) / 64 * 64);
  }
  void deallocate(void* handle, const std::size_t, std::size_t = alignof(std::max_align_t)) noexcept {
    --*living;
    std::free(handle);
  }
  bool is_equal(const CountingAllocator& other) const { return living == other.living; }
};

void tensors() {
  std::vector<float> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  ov::Tensor over(ov::element::f32, {2, 3, 4}, numbers.data());
  line(over.get_size(), ' ', over.get_byte_size(), ' ', over.get_strides(), ' ', over.is_continuous(), ' ',
       over.data() == numbers.data(), ' ', over.data<float>()[23], ' ', static_cast<bool>(over), ' ',
       static_cast<bool>(ov::Tensor()));
  ov::Tensor region(over, {0, 1, 1}, {2, 3, 3});
  line(region.get_shape(), ' ', region.get_strides(), ' ', region.is_continuous(), ' ', region.get_size(), ' ',
       region.data<float>()[0]);
  ov::Tensor copy(ov::element::f32, region.get_shape());
  region.copy_to(copy);
  print_values("copied region", copy);
  ov::Tensor other(ov::element::f32, {1});
  region.copy_to(other);  // It gets the shape.
  print_values("grown", other);
  refused("copied to another type", [&] {
    ov::Tensor wrong(ov::element::i32, {2, 2, 2});
    region.copy_to(wrong);
  });
  refused("data of another type", [&] { over.data<int>(); });
  refused("a region beyond", [&] { ov::Tensor(over, {0, 0, 0}, {2, 3, 5}); });
  refused("a region of another rank", [&] { ov::Tensor(over, {0, 0}, {2, 3}); });
  refused("a region that ends before it begins", [&] { ov::Tensor(over, {1, 1, 1}, {0, 3, 4}); });
  refused("a new shape of another's memory", [&] { over.set_shape({5, 5}); });
  over.set_shape({4, 6});
  line(over.get_shape(), ' ', over.get_strides());
  refused("a new shape of a region", [&] { region.set_shape({8}); });
  ov::Tensor strided(ov::element::f32, {2, 3}, numbers.data(), ov::Strides{40, 4});
  line(strided.get_strides(), ' ', strided.is_continuous(), ' ', *(strided.data<float>() + 10));
  refused("strides that overlap", [&] { ov::Tensor(ov::element::f32, {2, 3}, numbers.data(), ov::Strides{4, 4}); });
  refused("strides of another rank", [&] { ov::Tensor(ov::element::f32, {2, 3}, numbers.data(), ov::Strides{4}); });
  refused("no memory", [&] { ov::Tensor(ov::element::f32, {2, 3}, static_cast<void*>(nullptr)); });
  CountingAllocator counting;
  {
    ov::Tensor own(ov::element::f16, {3, 5}, ov::Allocator(counting));
    line("living ", *counting.living, ' ', own.get_byte_size());
    ov::Tensor same = own;
    own = ov::Tensor();
    line("living ", *counting.living, ' ', same.get_element_type());
    same.set_shape({30, 50});
    same.set_shape({1});
    line("living ", *counting.living > 0);
  }
  line("living ", *counting.living, ' ', ov::Allocator(counting) == ov::Allocator(counting), ' ',
       ov::Allocator() == ov::Allocator(counting));
  ov::Tensor text(ov::element::string, {2});
  text.data<std::string>()[0] = "one";
  text.data<std::string>()[1] = "a longer text that is not kept in place";
  ov::Tensor texts(ov::element::string, {2});
  text.copy_to(texts);
  line(texts.data<std::string>()[1], ' ', texts.get_size(), ' ', texts.get_byte_size() == 2 * sizeof(std::string));
  ov::Tensor bits(ov::element::u4, {3});
  ov::Tensor nothing(ov::element::f32, {0, 4});
  line(bits.get_byte_size(), ' ', bits.get_size(), ' ', nothing.get_byte_size(), ' ', nothing.get_size(), ' ',
       ov::Tensor(ov::element::f32, {}).get_size());
  refused("strides of bits", [&] { bits.get_strides(); });
  ov::Tensor whole(ov::element::boolean, {2});
  whole.data<bool>()[0] = true;
  line(whole.get_byte_size(), ' ', whole.data<char>()[0] == 1);
  const auto constant =
      std::make_shared<ov::op::v0::Constant>(ov::element::i64, ov::Shape{3}, std::vector<int>{1, 2, 3});
  const std::vector<int> cast = constant->cast_vector<int>();
  line(cast.size(), cast[2], ' ', constant->get_vector<std::int64_t>()[1], ' ', constant->get_byte_size(), ' ',
       constant->convert_value_to_string(1), ' ', constant->get_all_data_elements_bitwise_identical(), ' ',
       constant->get_shape_val(), constant->get_axis_set_val(), constant->get_coordinate_val(),
       constant->get_strides_val());
  const ov::op::v0::Constant from_tensor(copy);
  line(from_tensor.get_shape(), ' ', from_tensor.get_data_ptr() == copy.data(), ' ',
       from_tensor.get_data_ptr<float>()[0], ' ', from_tensor.get_tensor_view().get_size());
}

/// A value that is asked for, or how asking for it was refused.
template <typename F>
void asked(const char* what, F&& value) {
  refused(what, [&] { line(what, " = ", value()); });
}

void anything() {
  ov::Any any = 5;
  asked("a number is an int", [&] { return any.is<int>(); });
  asked("a number is a text", [&] { return any.is<std::string>(); });
  asked("a number as a text", [&] { return any.as<std::string>(); });
  asked("a number as a double", [&] { return any.as<double>(); });
  asked("a number as a size", [&] { return any.as<std::size_t>(); });
  asked("a number as a truth", [&] { return any.as<bool>(); });
  asked("a fraction as an int", [] { return ov::Any(2.5).as<int>(); });
  asked("less than nothing as a size", [] { return ov::Any(-1).as<unsigned int>(); });
  any = "17";
  asked("a text as an int", [&] { return any.as<int>(); });
  asked("a text as a float", [&] { return any.as<float>(); });
  asked("a text as a size", [&] { return any.as<std::uint64_t>(); });
  asked("a list as a text", [] { return ov::Any(std::vector<int>{1, 2, 3}).as<std::string>(); });
  asked("a list as a list of others", [] {
    return ov::Any(std::vector<int>{1, 2, 3}).as<std::vector<float>>().size();
  });
  any = ov::AnyMap{{"A", 1}, {"B", "text"}, {"C", ov::AnyMap{{"D", true}}}};
  asked("a map as a text", [&] { return any.as<std::string>(); });
  asked("a map in a map", [&] { return any.as<ov::AnyMap>().at("C").as<ov::AnyMap>().at("D").as<bool>(); });
  std::ostringstream printed;
  any.print(printed);
  line("printed ", printed.str());
  for (const char* text : {"YES", "NO", "true", "false", "True", "1", "0", "yes"})
    asked(text, [&] { return ov::Any(text).as<bool>(); });
  asked("false as a text", [] { return ov::Any(false).as<std::string>(); });
  asked("a list of words", [] { return ov::Any("a b").as<std::vector<std::string>>()[1]; });
  asked("an empty list", [] { return ov::Any("").as<std::vector<std::string>>().size(); });
  asked("a text that is no number", [] { return ov::Any("x5").as<int>(); });
  asked("a text that is no truth", [] { return ov::Any("maybe").as<bool>(); });
  asked("a map as a number", [] { return ov::Any(ov::AnyMap{}).as<int>(); });
  asked("nothing as a number", [] { return ov::Any().as<int>(); });
  asked("nothing as a text", [] { return ov::Any().as<std::string>(); });
  asked("a mode that is none", [] { return ov::Any("FAST").as<ov::hint::PerformanceMode>(); });
  asked("a map in a text", [] { return ov::Any("{A:1,B:{C:2}}").as<ov::AnyMap>().size(); });
  asked("a text of a type", [] { return ov::Any(ov::element::f16).as<std::string>(); });
  asked("a type of a text", [] { return ov::Any("bf16").as<ov::element::Type>(); });
  asked("no type of a text", [] { return ov::Any("f7").as<ov::element::Type>(); });
  asked("a mode of a text", [] { return ov::Any("THROUGHPUT").as<ov::hint::PerformanceMode>(); });
  asked("a text of a priority", [] { return ov::Any(ov::hint::Priority::LOW).as<std::string>(); });
  asked("a level of a text", [] { return ov::Any("LOG_DEBUG").as<ov::log::Level>(); });
  asked("a text of streams", [] { return ov::Any(ov::streams::Num(3)).as<std::string>(); });
  asked("streams of a text", [] { return ov::Any("AUTO").as<ov::streams::Num>().num; });
  asked("streams of a number", [] { return ov::Any(4).as<ov::streams::Num>().num; });
  asked("a text of a float", [] { return ov::Any(1.5F).as<std::string>(); });
  asked("no address", [] { return ov::Any(static_cast<void*>(nullptr)).as<void*>() == nullptr; });
  asked("equal texts", [] { return ov::Any(std::string("s")) == ov::Any(std::string("s")); });
  asked("other numbers", [] { return ov::Any(1) == ov::Any(2); });
  asked("a number and a text", [] { return ov::Any(1) == ov::Any("1"); });
  asked("a pointer", [] { return ov::Any(std::make_shared<int>(3)).is<std::shared_ptr<int>>(); });
  asked("a node as another", [] {
    return ov::Any(std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::Shape{1}))
        .is<std::shared_ptr<ov::Node>>();
  });
  asked("a map of numbers", [] {
    return ov::Any(std::map<std::string, std::uint64_t>{{"a", 1}, {"b", 2}}).as<std::string>();
  });
  asked("a set", [] { return ov::Any(std::set<std::string>{"z", "y"}).as<std::string>(); });
  asked("a tuple", [] { return ov::Any(std::tuple<unsigned int, unsigned int>(1, 8)).as<std::string>(); });
  asked("a pair", [] { return ov::Any(std::pair<int, std::string>(1, "b")).as<std::string>(); });
  asked("a list of lists", [] { return ov::Any(std::vector<std::vector<int>>{{1, 2}, {3}}).as<std::string>(); });
  asked("read", [] {
    std::istringstream in("2.5");
    ov::Any read = 1.0F;
    read.read(in);
    return read.as<float>();
  });
}

void options() {
  ov::Core core;
  const auto model = small_model(core);
  core.set_property("CPU", ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT));
  core.set_property("CPU", {ov::hint::num_requests(2), ov::hint::execution_mode(ov::hint::ExecutionMode::ACCURACY)});
  line(core.get_property("CPU", ov::hint::performance_mode), ' ', core.get_property("CPU", ov::hint::num_requests), ' ',
       core.get_property("CPU", ov::hint::execution_mode), ' ',
       core.get_property("CPU", ov::hint::inference_precision));
  ov::CompiledModel compiled = core.compile_model(model, "CPU");
  line(compiled.get_property(ov::hint::performance_mode), ' ', compiled.get_property(ov::hint::num_requests), ' ',
       compiled.get_property(ov::hint::execution_mode));
  compiled = core.compile_model(
      model, "CPU", ov::hint::performance_mode("LATENCY"), ov::num_streams(2), ov::inference_num_threads(2),
      ov::enable_profiling(true), ov::hint::enable_cpu_pinning(false), ov::hint::enable_hyper_threading(false),
      ov::intel_cpu::denormals_optimization(true), ov::intel_cpu::sparse_weights_decompression_rate(0.8F),
      ov::hint::dynamic_quantization_group_size(0), ov::hint::kv_cache_precision(ov::element::f16));
  line(compiled.get_property(ov::num_streams), ' ', compiled.get_property(ov::inference_num_threads), ' ',
       compiled.get_property(ov::enable_profiling), ' ', compiled.get_property(ov::hint::enable_cpu_pinning), ' ',
       compiled.get_property(ov::hint::enable_hyper_threading), ' ',
       compiled.get_property(ov::intel_cpu::denormals_optimization), ' ',
       compiled.get_property(ov::intel_cpu::sparse_weights_decompression_rate), ' ',
       compiled.get_property(ov::hint::dynamic_quantization_group_size), ' ',
       compiled.get_property(ov::hint::kv_cache_precision));
  refused("a property of the model that is read only", [&] { compiled.set_property(ov::enable_profiling(false)); });
  refused("a name as a setting", [&] { core.set_property("CPU", {{"FULL_DEVICE_NAME", "x"}}); });
  refused("streams of no number", [&] { core.compile_model(model, "CPU", {{"NUM_STREAMS", "-5"}}); });
  refused("threads of no number", [&] { core.compile_model(model, "CPU", {{"INFERENCE_NUM_THREADS", "many"}}); });
  refused("a precision that is none", [&] { core.compile_model(model, "CPU", {{"INFERENCE_PRECISION_HINT", "f7"}}); });
  refused("no truth", [&] { core.compile_model(model, "CPU", {{"PERF_COUNT", "PERHAPS"}}); });
  refused("another device's property", [&] { core.compile_model(model, "CPU", {{"NPU_TILES", 2}}); });
  line(compiled.get_property("NUM_STREAMS").as<int>(), ' ', compiled.get_property("NUM_STREAMS").as<std::string>(), ' ',
       compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS").as<std::uint32_t>() >= 1, ' ',
       compiled.get_property("NETWORK_NAME").as<std::string>(), ' ',
       compiled.get_property("EXECUTION_DEVICES").as<std::string>());
  const auto names = compiled.get_property(ov::supported_properties);
  std::size_t readable = 0;
  for (const auto& name : names) readable += compiled.get_property(name).empty() ? 0 : 1;
  line("a model's properties are readable ", readable == names.size(), ' ', names.size() > 8);
  print_known(names, {"NETWORK_NAME", "OPTIMAL_NUMBER_OF_INFER_REQUESTS", "NUM_STREAMS", "PERF_COUNT",
                      "INFERENCE_PRECISION_HINT", "PERFORMANCE_HINT", "EXECUTION_MODE_HINT", "EXECUTION_DEVICES",
                      "ENABLE_CPU_PINNING", "SCHEDULING_CORE_TYPE", "ENABLE_HYPER_THREADING", "LOG_LEVEL"});
  const auto device = core.get_property("CPU", ov::supported_properties);
  print_known(device, {"SUPPORTED_PROPERTIES",
                       "AVAILABLE_DEVICES",
                       "RANGE_FOR_ASYNC_INFER_REQUESTS",
                       "RANGE_FOR_STREAMS",
                       "EXECUTION_DEVICES",
                       "FULL_DEVICE_NAME",
                       "OPTIMIZATION_CAPABILITIES",
                       "DEVICE_TYPE",
                       "DEVICE_ARCHITECTURE",
                       "NUM_STREAMS",
                       "INFERENCE_NUM_THREADS",
                       "PERF_COUNT",
                       "INFERENCE_PRECISION_HINT",
                       "PERFORMANCE_HINT",
                       "EXECUTION_MODE_HINT",
                       "PERFORMANCE_HINT_NUM_REQUESTS",
                       "ENABLE_CPU_PINNING",
                       "SCHEDULING_CORE_TYPE",
                       "MODEL_DISTRIBUTION_POLICY",
                       "ENABLE_HYPER_THREADING",
                       "DEVICE_ID",
                       "CPU_DENORMALS_OPTIMIZATION",
                       "LOG_LEVEL",
                       "CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE",
                       "DYNAMIC_QUANTIZATION_GROUP_SIZE",
                       "KV_CACHE_PRECISION"});
  line(core.get_property("CPU", ov::device::type), ' ', core.get_property("CPU", ov::available_devices).size(), ' ',
       std::get<2>(core.get_property("CPU", ov::range_for_async_infer_requests)) >= 1, ' ',
       core.get_property("CPU", ov::device::id).empty());
  core.set_property(ov::cache_dir(""));
  core.set_property({{"CPU", ov::AnyMap{}}});
}

void over_devices() {
  ov::Core core;
  const auto model = small_model(core);
  ov::Tensor x(ov::element::f32, {1, 3, 4, 4});
  std::fill_n(x.data<float>(), x.get_size(), -2.0F);
  const auto run = [&](const char* name, auto&& compile) {
    refused(name, [&] {
      ov::CompiledModel compiled = compile();
      ov::InferRequest request = compiled.create_infer_request();
      request.set_tensor("x", x);
      request.start_async();
      request.wait();
      print_values(name, request.get_tensor("y"), 2);
    });
  };
  run("AUTO", [&] { return core.compile_model(model, "AUTO"); });
  run("AUTO:CPU", [&] { return core.compile_model(model, "AUTO:CPU"); });
  run("AUTO with priorities", [&] { return core.compile_model(model, "AUTO", ov::device::priorities("CPU")); });
  run("AUTO with a hint", [&] {
    return core.compile_model(model, "AUTO", ov::device::priorities("CPU"),
                              ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT));
  });
  run("MULTI", [&] { return core.compile_model(model, "MULTI:CPU"); });
  run("MULTI with priorities", [&] { return core.compile_model(model, "MULTI", ov::device::priorities("CPU")); });
  run("HETERO", [&] { return core.compile_model(model, "HETERO:CPU"); });
  run("HETERO with priorities", [&] { return core.compile_model(model, "HETERO", ov::device::priorities("CPU")); });
  run("with properties of a device", [&] {
    return core.compile_model(model, "HETERO", ov::device::priorities("CPU"),
                              ov::device::properties("CPU", ov::enable_profiling(true), ov::num_streams(1)));
  });
  run("BATCH", [&] { return core.compile_model(model, "BATCH:CPU(4)", ov::auto_batch_timeout(1)); });
  refused("AUTO of a device that is none", [&] { core.compile_model(model, "AUTO:XPU"); });
  refused("HETERO of nothing", [&] { core.compile_model(model, "HETERO"); });
  ov::CompiledModel automatic = core.compile_model(model, "AUTO", ov::device::priorities("CPU"));
  line(automatic.get_property(ov::execution_devices).at(0).find("CPU") != std::string::npos, ' ',
       automatic.get_property(ov::device::priorities), ' ', automatic.get_property(ov::model_name), ' ',
       automatic.get_property(ov::hint::performance_mode), ' ',
       automatic.get_property(ov::optimal_number_of_infer_requests) >= 1);
  auto by_affinity = small_model(core);
  const auto supported = core.query_model(by_affinity, "HETERO:CPU");
  for (const auto& node : by_affinity->get_ordered_ops())
    node->get_rt_info()["affinity"] = supported.at(node->get_friendly_name());
  line(supported.size(), ' ', supported.at("sum"));
  run("HETERO by affinity", [&] { return core.compile_model(by_affinity, "HETERO:CPU"); });
  for (const char* device : {"AUTO", "HETERO", "BATCH"})
    refused(device, [&] { line(device, ' ', core.get_property(device, ov::device::full_name)); });
}

void caches() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("ov_guide_" + std::to_string(::getpid()));
  fs::remove_all(folder);  // Left by an earlier process of this number.
  fs::create_directory(folder);
  {
    ov::Core core;
    const auto model = small_model(core);
    const fs::path xml = folder / "model.xml";
    ov::save_model(model, xml);
    line(fs::exists(xml), fs::exists(folder / "model.bin"));
    ov::serialize(model, (folder / "again.xml").string(), (folder / "weights.bin").string());
    line(fs::exists(folder / "weights.bin"), ' ',
         core.read_model(folder / "again.xml", folder / "weights.bin")->get_friendly_name());
    core.set_property(ov::cache_dir((folder / "cache").string()));
    for (int i = 0; i < 2; ++i) {
      ov::CompiledModel compiled = core.compile_model(xml, "CPU", ov::hint::inference_precision(ov::element::f32));
      line("from the cache ", compiled.get_property(ov::loaded_from_cache));
      ov::InferRequest request = compiled.create_infer_request();
      std::fill_n(request.get_input_tensor().data<float>(), 48, 1.5F);
      request.infer();
      print_values("cached", request.get_output_tensor(), 2);
    }
    line("files ", std::distance(fs::directory_iterator(folder / "cache"), fs::directory_iterator()));
    core.set_property("CPU", ov::cache_dir(""));
    // A blob, encrypted by the program.
    const auto turned = [](const std::string& text) {
      std::string made = text;
      for (char& each : made) each = static_cast<char>(each ^ 0x5A);
      return made;
    };
    ov::EncryptionCallbacks callbacks{turned, turned};
    ov::CompiledModel compiled = core.compile_model(model, "CPU", ov::cache_encryption_callbacks(callbacks));
    std::stringstream blob;
    compiled.export_model(blob);
    ov::CompiledModel imported = core.import_model(blob, "CPU", {ov::cache_encryption_callbacks(callbacks)});
    line(imported.input().get_any_name(), ' ', imported.output().get_shape(), ' ',
         imported.get_property(ov::model_name));
    std::stringstream plain;
    core.compile_model(model, "CPU").export_model(plain);
    const std::string bytes = plain.str();
    ov::Tensor memory(ov::element::u8, {bytes.size()});
    std::memcpy(memory.data(), bytes.data(), bytes.size());
    line(core.import_model(memory, "CPU").output().get_any_name());
    refused("half a blob", [&] {
      std::stringstream half(bytes.substr(0, bytes.size() / 2));
      core.import_model(half, "CPU");
    });
    refused("no blob", [&] {
      std::stringstream none;
      core.import_model(none, "CPU");
    });
    refused("a file that is no model", [&] {
      std::ofstream(folder / "text.xml") << "text";
      core.read_model(folder / "text.xml");
    });
    refused("weights that are missing", [&] { core.read_model(xml, folder / "nothing.bin"); });
    refused("weights that are too few", [&] {
      std::ofstream(folder / "short.bin") << "ab";
      core.read_model(xml, folder / "short.bin");
    });
  }
  fs::remove_all(folder);
}

void kept_states() {
  ov::Core core;
  ov::CompiledModel compiled = core.compile_model(stateful_model(core), "CPU");
  ov::InferRequest first = compiled.create_infer_request(), second = compiled.create_infer_request();
  const auto step = [](ov::InferRequest& request, float value) {
    std::fill_n(request.get_input_tensor().data<float>(), 2, value);
    request.infer();
    return request.get_output_tensor().data<float>()[0];
  };
  line(step(first, 1));
  line(step(first, 2));
  line(step(second, 5));
  auto states = first.query_state();
  line(states.size(), ' ', states[0].get_name(), ' ', states[0].get_state().get_shape(), ' ',
       states[0].get_state().data<float>()[0]);
  second.query_state()[0].set_state(states[0].get_state());
  line(step(second, 1));
  ov::Tensor mine(ov::element::f32, {1, 2});
  std::fill_n(mine.data<float>(), 2, 100.0F);
  states[0].set_state(mine);
  mine.data<float>()[0] = 7;
  line("a state is its own ", step(first, 1) == 101);
  states[0].reset();
  line(step(first, 1));
  first.reset_state();
  line(step(first, 2));
  refused("a state of another type", [&] { states[0].set_state(ov::Tensor(ov::element::i32, {1, 2})); });
}

void requests_beside() {
  ov::Core core;
  const auto model = small_model(core);
  ov::CompiledModel compiled = core.compile_model(model, "CPU", ov::num_streams(2), ov::enable_profiling(true));
  ov::InferRequest a = compiled.create_infer_request(), b = compiled.create_infer_request();
  // The output of one is the input of the other.
  b.set_input_tensor(a.get_output_tensor());
  std::fill_n(a.get_input_tensor().data<float>(), 48, 2.0F);
  a.start_async();
  a.wait();
  b.start_async();
  b.wait();
  print_values("chained", b.get_output_tensor(), 2);
  std::vector<std::thread> threads;
  std::vector<float> found(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      ov::InferRequest own = compiled.create_infer_request();
      std::fill_n(own.get_input_tensor().data<float>(), 48, static_cast<float>(i));
      for (int round = 0; round < 5; ++round) own.infer();
      found[static_cast<std::size_t>(i)] = own.get_output_tensor().data<float>()[0];
    });
  for (auto& each : threads) each.join();
  line(found[0], found[1], found[2], found[3]);
  refused("waiting before the start", [&] {
    ov::InferRequest never = compiled.create_infer_request();
    never.wait();
  });
  refused("cancelled before the start", [&] { compiled.create_infer_request().cancel(); });
  refused("two tensors at one input", [&] {
    a.set_input_tensors({ov::Tensor(ov::element::f32, {1, 3, 4, 4}), ov::Tensor(ov::element::f32, {1, 3, 4, 4})});
  });
  refused("an input as an output", [&] { a.set_output_tensor(1, ov::Tensor(ov::element::f32, {1, 3, 4, 4})); });
  // Rows of a batch, one tensor each.
  auto batched = small_model(core, "2,3,4,4");
  batched->get_parameters()[0]->set_layout("NCHW");
  ov::InferRequest rows = core.compile_model(batched, "CPU").create_infer_request();
  std::vector<ov::Tensor> parts;
  for (int i = 0; i < 2; ++i) {
    parts.emplace_back(ov::element::f32, ov::Shape{1, 3, 4, 4});
    std::fill_n(parts.back().data<float>(), 48, static_cast<float>(10 * i));
  }
  rows.set_tensors("x", parts);
  rows.infer();
  line("rows ", rows.get_output_tensor().data<float>()[0], ' ', rows.get_output_tensor().data<float>()[48]);
  refused("a tensor of many", [&] { rows.get_tensor("x"); });
  rows.set_input_tensors(parts);
  rows.infer();
  line("rows ", rows.get_output_tensor().data<float>()[0], ' ', rows.get_output_tensor().data<float>()[48]);
  refused("too many rows", [&] {
    parts.push_back(parts[0]);
    rows.set_input_tensors(parts);
    rows.infer();
  });
  const auto executed = compiled.get_runtime_model();
  std::size_t named = 0;
  for (const auto& node : executed->get_ops()) named += node->get_rt_info().count("layerType");
  line("what runs has types ", named > 0, ' ', executed->get_parameters().size(), executed->get_results().size());
}

void edited_models() {
  using namespace ov::opset8;
  ov::Core core;
  auto model = small_model(core);
  for (const auto& node : model->get_ordered_ops())
    line(node->get_type_name(), ' ', node->get_friendly_name(), ' ', node->get_input_size(), node->get_output_size(),
         ' ', node->get_type_info().version_id ? node->get_type_info().version_id : "none");
  model->add_output("inner");
  model->add_output(ov::Output<ov::Node>(model->get_parameters()[0]));
  model->add_output("relu", 0);
  line(model->outputs().size(), ' ', model->output(1).get_any_name(), ' ', model->get_output_size());
  refused("an output of no name", [&] { model->add_output("nothing"); });
  refused("an output of no port", [&] { model->add_output("relu", 3); });
  model->remove_result(model->get_results()[2]);
  line(model->get_results().size(), ' ', model->is_dynamic(), ' ', model->get_friendly_name(), ' ',
       model->get_name().empty());
  model->get_rt_info()["conversion"] = ov::AnyMap{{"tool", "mine"}};
  model->set_rt_info("cat dog", "model_info", "labels");
  line(model->has_rt_info("model_info", "labels"), ' ', model->get_rt_info<std::string>("model_info", "labels"), ' ',
       model->has_rt_info("model_info", "colors"));
  refused("information that is missing", [&] { model->get_rt_info<std::string>("model_info", "colors"); });
  auto copy = model->clone();
  copy->set_friendly_name("copy");
  line(copy->get_friendly_name(), ' ', model->get_friendly_name(), ' ',
       copy->get_ops().size() == model->get_ops().size(), ' ', copy->get_rt_info<std::string>("model_info", "labels"));
  for (const auto& node : copy->get_ops())
    if (auto relu = ov::as_type_ptr<Relu>(node)) {
      auto sigmoid = std::make_shared<Sigmoid>(relu->input_value(0));
      sigmoid->set_friendly_name(relu->get_friendly_name());
      ov::copy_runtime_info(relu, sigmoid);
      ov::replace_node(relu, sigmoid);
    }
  ov::InferRequest request =
      core.compile_model(copy, "CPU", ov::hint::inference_precision(ov::element::f32)).create_infer_request();
  std::fill_n(request.get_input_tensor().data<float>(), 48, 0.0F);
  request.infer();
  print_values("sigmoid", request.get_output_tensor(0), 2);
  std::ostringstream port;
  port << copy->output(0);
  line(port.str());
  auto added = std::make_shared<Parameter>(ov::element::f32, ov::PartialShape{1, 3, 4, 4});
  added->set_friendly_name("more");
  added->output(0).set_names({"more"});
  copy->add_parameters({added});
  copy->add_results(
      {std::make_shared<Result>(std::make_shared<Multiply>(added, copy->output(0).get_node()->input_value(0)))});
  copy->validate_nodes_and_infer_types();
  line(copy->inputs().size(), copy->outputs().size(), ' ', copy->get_parameter_index(added), ' ',
       copy->get_result_index(copy->get_results().back()));
  copy->remove_parameter(added);
  line(copy->inputs().size());
  refused("a model with an input that it does not list", [&] { copy->validate_nodes_and_infer_types(); });
  std::ostringstream printed;
  printed << *model->get_results()[0] << '\n' << *model->get_parameters()[0];
  line(printed.str());
  for (const auto& consumer : model->get_parameters()[0]->output(0).get_target_inputs())
    line(consumer.get_node()->get_friendly_name(), ' ', consumer.get_index(), ' ', consumer.get_element_type(),
         consumer.get_shape());
  ov::TensorVector outputs{ov::Tensor(ov::element::f32, {1, 3, 4, 4}), ov::Tensor(ov::element::f32, {1, 3, 4, 4})};
  ov::Tensor ones(ov::element::f32, {1, 3, 4, 4});
  std::fill_n(ones.data<float>(), 48, 1.0F);
  line(model->evaluate(outputs, {ones}));
  print_values("evaluated", outputs[0], 2);
}

}  // namespace
}  // namespace guides

void guide_runtime() {
  const auto each = [](const char* name, void (*program)()) { refused(name, [&] { program(); }); };
  each("tensors", guides::tensors);
  each("values of any type", guides::anything);
  each("options", guides::options);
  each("devices over devices", guides::over_devices);
  each("caches", guides::caches);
  each("states that are kept", guides::kept_states);
  each("requests beside each other", guides::requests_beside);
  each("models that are edited", guides::edited_models);
}
