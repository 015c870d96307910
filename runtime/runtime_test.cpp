// SPDX-License-Identifier: Apache-2.0
// Core, compiled models and requests over the reference device: names, checks, texts, ledger, lifetime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/platform/modules.hpp>
#include <tenon/core/platform/testing/environment.hpp>
#include <tenon/runtime/device/device_registry.hpp>
#include <tenon/runtime/model_cache.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::testing {
namespace runtime_test {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const bool kRegistered = [] {
  register_device(reference_module());
  return true;
}();

template <typename E = Error, typename F>
std::string message_of(F&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another exception: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

Tensor floats(const Shape& shape, std::vector<float> values) {
  Tensor tensor(element::f32, shape);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}
std::vector<float> values_of(const Tensor& tensor) {
  Tensor packed(tensor.element_type(), tensor.shape());
  copy_strided(tensor.element_type(), tensor.shape(), tensor.data(), tensor.byte_strides(), packed.data(),
               packed.byte_strides());
  return {packed.data<float>(), packed.data<float>() + packed.element_count()};
}

TEST(CoreDevices, UnknownNameListsTheKnownOnes) {
  Core core;
  const auto text = message_of<AssertFailure>([&] { core.compile_model(relu_model(), "XYZ"); });
  EXPECT_THAT(text, HasSubstr("Device with \"XYZ\" name is not registered"));
  EXPECT_THAT(text, HasSubstr("REFERENCE"));
}

TEST(CoreDevices, AreListedAndAnswerTheirProperties) {
  Core core;
  EXPECT_THAT(core.get_available_devices(), Contains("REFERENCE"));
  const auto names = core.get_property("REFERENCE", supported_properties);
  EXPECT_THAT(names, Contains(std::string("FULL_DEVICE_NAME")));
  for (const PropertyName& name : names) EXPECT_NO_THROW(core.get_property("REFERENCE", name)) << name;
  EXPECT_THAT(core.get_property("REFERENCE", device::full_name), HasSubstr("interpreter"));
  EXPECT_THAT(core.get_versions("REFERENCE"), ::testing::SizeIs(1));
}

TEST(CoreDevices, IdThatIsNotPresentIsUnavailable) {
  Core core;
  EXPECT_THAT(message_of([&] { core.compile_model(relu_model(), "REFERENCE.7"); }), HasSubstr("not present"));
  EXPECT_NO_THROW(core.compile_model(relu_model(), "REFERENCE.0"));
}

TEST(CoreDevices, BrokenModuleIsUnavailableAndHurtsNoOther) {
  const TemporaryFolder folder;
  const std::string name = "libtenon_device_broken" + std::string(platform::kModuleSuffix);
  std::ofstream(folder.path() / name) << "this is no library";
  const platform::ScopedVariable folders("TENON_DEVICE_PATH", folder.path().string());
  Core core;
  EXPECT_THAT(core.get_available_devices(), Not(Contains("BROKEN")));
  EXPECT_THAT(core.get_available_devices(), Contains("REFERENCE"));
  EXPECT_THAT(core.get_unavailable_devices()["BROKEN"], HasSubstr(name));
  try {
    core.compile_model(relu_model(), "BROKEN");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
  }
  EXPECT_NO_THROW(core.compile_model(relu_model(), "REFERENCE"));
}

TEST(CoreDevices, ModuleOfAnotherInterfaceVersionIsRefused) {
  static const DeviceModule old{kDeviceAbiVersion + 7, sizeof(DeviceModule), "OLD", "", nullptr};
  EXPECT_THAT(message_of([&] { register_device(old); }), HasSubstr(std::to_string(kDeviceAbiVersion + 7)));
}

TEST(CoreProperties, AreCheckedAllOrNothing) {
  Core core;
  core.set_property("REFERENCE", num_streams(3));
  EXPECT_EQ(core.get_property("REFERENCE", num_streams), 3);
  EXPECT_THAT(message_of([&] {
                core.set_property("REFERENCE", AnyMap{{"NUM_STREAMS", "5"}, {"NO_SUCH", 1}});
              }),
              HasSubstr("NO_SUCH"));
  EXPECT_EQ(core.get_property("REFERENCE", num_streams), 3);
  EXPECT_THAT(message_of([&] {
                core.set_property("REFERENCE", AnyMap{{"FULL_DEVICE_NAME", "x"}});
              }),
              HasSubstr("read-only"));
  core.set_property("REFERENCE", AnyMap{{"NUM_STREAMS", "AUTO"}, {"PERFORMANCE_HINT", "THROUGHPUT"}});
  EXPECT_EQ(core.get_property("REFERENCE", num_streams), streams::AUTO);
  EXPECT_EQ(core.get_property("REFERENCE", hint::performance_mode), hint::PerformanceMode::THROUGHPUT);
  Core other;
  EXPECT_EQ(other.get_property("REFERENCE", num_streams), 1) << "properties of one Core must not reach another";
}

TEST(CoreProperties, OfADeviceInACompileCallReachOnlyThatDevice) {
  Core core;
  auto model = core.compile_model(relu_model(), "REFERENCE", device::properties("REFERENCE", num_streams(4)),
                                  device::properties("OTHER", num_streams(9)));
  EXPECT_EQ(model.get_property(num_streams), 4);
}

TEST(CoreProperties, CacheOfADeviceThatCannotExportSaysSo) {
  Core core;
  core.set_property(cache_dir("/tmp/tenon_no_such_cache"));
  EXPECT_EQ(core.get_property(std::string(cache_dir.name())).as<std::string>(), "/tmp/tenon_no_such_cache");
  std::string message;
  cache::set_message_sink([&](const std::string& text) { message = text; });
  auto model = core.compile_model(relu_model(), "REFERENCE");
  cache::set_message_sink({});
  EXPECT_THAT(message, HasSubstr("EXPORT_IMPORT"));
  EXPECT_FALSE(model.get_property(loaded_from_cache));
  EXPECT_FALSE(std::filesystem::exists("/tmp/tenon_no_such_cache"));
}

TEST(Properties, ConvertFromText) {
  EXPECT_EQ(hint::performance_mode("LATENCY").second.as<hint::PerformanceMode>(), hint::PerformanceMode::LATENCY);
  EXPECT_EQ(Any("NUMA").as<streams::Num>(), streams::NUMA);
  EXPECT_EQ(enable_profiling(true).second.as<std::string>(), "YES");
  EXPECT_EQ(Any(hint::PerformanceMode::THROUGHPUT).as<std::string>(), "THROUGHPUT");
  EXPECT_THROW(hint::num_requests(-1), Error);
  EXPECT_THROW(Any("FASTER").as<hint::PerformanceMode>(), Error);
}

TEST(CoreCompile, NamesEveryUnsupportedOperation) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4});
  auto t = std::make_shared<op::v0::Tanh>(x->output(0));
  t->set_friendly_name("squash");
  auto model = std::make_shared<Model>(OutputVector{t->output(0)}, ParameterVector{x});
  Core core;
  EXPECT_THAT(message_of<NotImplemented>([&] { core.compile_model(model, "REFERENCE"); }), HasSubstr("squash"));
  EXPECT_EQ(core.query_model(model, "REFERENCE").count("squash"), 0u);
  EXPECT_EQ(core.query_model(relu_model(), "REFERENCE").count("relu"), 1u);
}

TEST(CoreCompile, RefusesWhatIsNull) {
  Core core;
  EXPECT_THROW(core.compile_model(std::shared_ptr<Model>(), "REFERENCE"), Error);
  EXPECT_THAT(message_of([&] { core.compile_model(relu_model(), RemoteContext()); }),
              HasSubstr("Remote context is null"));
  EXPECT_THROW(core.compile_model("/no/such/model.onnx", "REFERENCE"), Error);
  EXPECT_THROW(CompiledModel().create_infer_request(), Error);
  EXPECT_THROW(InferRequest().infer(), Error);
}

TEST(CompiledModel, PortsKeepNamesAndShapes) {
  Core core;
  auto model = core.compile_model(add_model(), "REFERENCE");
  ASSERT_EQ(model.inputs().size(), 2u);
  EXPECT_EQ(model.input("b").get_any_name(), "b");
  EXPECT_EQ(model.output().get_any_name(), "sum");
  EXPECT_EQ(model.output().get_shape(), (Shape{2, 3}));
  EXPECT_THAT(message_of([&] { model.input(); }), HasSubstr("exactly one input"));
  EXPECT_THAT(message_of([&] { model.input("nope"); }), HasSubstr("nope"));
  EXPECT_EQ(model.get_property(model_name), "add_model");
}

TEST(CompiledModel, ExportIsUnimplementedWithAReason) {
  Core core;
  auto model = core.compile_model(relu_model(), "REFERENCE");
  std::stringstream blob;
  EXPECT_THAT(message_of<NotImplemented>([&] { model.export_model(blob); }), HasSubstr("EXPORT_IMPORT"));
  EXPECT_THROW(core.import_model(blob, "REFERENCE"), NotImplemented);
}

class Request : public ::testing::Test {
 protected:
  Core core;
  CompiledModel relu = core.compile_model(relu_model(), "REFERENCE");
  InferRequest request = relu.create_infer_request();
};

TEST_F(Request, InfersIntoItsOwnTensors) {
  request.set_tensor("x", floats({1, 4}, {-1, 2, -3, 4}));
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(0, 2, 0, 4));
}

TEST_F(Request, TakesPortsOfTheOriginalModel) {
  auto model = relu_model();
  auto compiled = core.compile_model(model, "REFERENCE");
  auto r = compiled.create_infer_request();
  r.set_tensor(model->get_parameters()[0], floats({1, 4}, {1, 1, 1, 1}));
  r.infer();
  EXPECT_THAT(values_of(r.get_tensor(model->output())), Each(1));
  EXPECT_THAT(values_of(r.get_tensor(compiled.output())), Each(1));
  EXPECT_THROW(r.get_tensor(add_model()->input(0)), Error);
}

TEST_F(Request, TakesNamesOfTensorsAndOfNodes) {
  Tensor x = floats({1, 4}, {5, 6, 7, 8});
  request.set_tensor("x_node", x);
  EXPECT_EQ(request.get_tensor("x").data(), x.data());
  const auto text = message_of([&] { request.set_tensor("nope", x); });
  EXPECT_THAT(text, HasSubstr("Port for tensor name nope was not found."));
  EXPECT_THAT(text, HasSubstr("x"));
  EXPECT_THAT(message_of([&] { request.set_input_tensor(5, x); }),
              HasSubstr("Input port for index 5 was not found! The model has only 1 inputs."));
}

TEST_F(Request, ChecksTensorsWithTheKnownWords) {
  EXPECT_THAT(message_of([&] { request.set_tensor("x", Tensor()); }), HasSubstr("The tensor is not initialized!"));
  EXPECT_THAT(message_of([&] {
                request.set_tensor("x", Tensor(element::u8, {1, 4}));
              }),
              HasSubstr("The tensor element type is not corresponding with"));
  EXPECT_THAT(message_of([&] {
                request.set_tensor("x", Tensor(element::f32, {1, 5}));
              }),
              HasSubstr("got [1,5] expecting [1,4]"));
  EXPECT_THAT(message_of([&] { request.set_output_tensor(Tensor(element::f32, {2, 4})); }), HasSubstr("[2,4]"));
}

TEST_F(Request, GetTensorIsStable) {
  const void* x = request.get_tensor("x").data();
  EXPECT_EQ(request.get_input_tensor().data(), x);
  request.infer();
  const void* y = request.get_output_tensor(0).data();
  request.infer();
  EXPECT_EQ(request.get_tensor("x").data(), x);
  EXPECT_EQ(request.get_tensor("y").data(), y);
}

TEST_F(Request, WritesIntoTheUsersOutput) {
  std::vector<float> memory(4, -1);
  request.set_output_tensor(Tensor(element::f32, {1, 4}, memory.data()));
  request.set_input_tensor(floats({1, 4}, {1, -2, 3, -4}));
  request.infer();
  EXPECT_THAT(memory, ElementsAre(1, 0, 3, 0));
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

TEST_F(Request, RefusesAnOutputThatCannotBeWritten) {
  static const float memory[4] = {};
  Tensor constant(TensorInfo{element::f32, {1, 4}, packed_strides(element::f32, {1, 4})},
                  HostMemory::borrow(const_cast<float*>(memory), sizeof memory, true));
  EXPECT_THAT(message_of([&] { request.set_output_tensor(constant); }), HasSubstr("read-only"));
  EXPECT_NO_THROW(request.set_input_tensor(constant));
}

TEST_F(Request, PacksStridedTensorsAndBooksThem) {
  Tensor wide = floats({2, 8}, {1, -1, 2, -2, 9, 9, 9, 9, 3, -3, 4, -4, 9, 9, 9, 9});
  Tensor part(wide, {1, 0}, {2, 4});
  Tensor target = floats({2, 8}, std::vector<float>(16, 7));
  Tensor out(target, {0, 4}, {1, 8});
  auto compiled = core.compile_model(add_model({2, 4}), "REFERENCE");
  auto r = compiled.create_infer_request();
  r.set_tensor("a", Tensor(wide, {0, 0}, {2, 4}));
  r.set_tensor("b", floats({2, 4}, std::vector<float>(8, 1)));
  r.set_tensor("sum", Tensor(target, {0, 4}, {2, 8}));
  r.infer();
  EXPECT_THAT(values_of(Tensor(target, {0, 4}, {2, 8})), ElementsAre(2, 0, 3, -1, 4, -2, 5, -3));
  EXPECT_THAT(values_of(Tensor(target, {0, 0}, {2, 4})), Each(7)) << "beside the region nothing may change";
  EXPECT_EQ(r.ledger().total().copied, 2 * 8 * sizeof(float));
  EXPECT_EQ(core.ledger().total().copied, 2 * 8 * sizeof(float)) << "the request's scope adds up in the Core's";
  // A row of a matrix is packed: nothing to copy.
  request.set_input_tensor(part);
  request.infer();
  EXPECT_EQ(request.ledger().total().copied, 0u);
  // The content at the time of the inference counts, not at set_tensor.
  wide.data<float>()[0] = 100;
  r.infer();
  EXPECT_EQ(target.data<float>()[4], 101);
}

TEST_F(Request, UnderRequireAStridedTensorIsRefusedWithTheReason) {
  auto strict = core.compile_model(add_model({2, 2}), "REFERENCE", zero_copy(ZeroCopy::kRequire));
  auto r = strict.create_infer_request();
  Tensor wide(element::f32, {2, 4});
  const auto text = message_of([&] { r.set_tensor("a", Tensor(wide, {0, 0}, {2, 2})); });
  EXPECT_THAT(text, HasSubstr("require"));
  EXPECT_THAT(text, HasSubstr("strides"));
  auto lenient = core.compile_model(add_model({2, 2}), "REFERENCE", zero_copy(ZeroCopy::kRequire), takes_strides(true));
  auto s = lenient.create_infer_request();
  EXPECT_NO_THROW(s.set_tensor("a", Tensor(wide, {0, 0}, {2, 2})));
  EXPECT_EQ(lenient.get_property(zero_copy), ZeroCopy::kRequire);
}

TEST_F(Request, HoldsTensorsUntilAnotherIsSet) {
  int released = 0;
  std::vector<float> memory(4, 1);
  {
    Tensor lent(TensorInfo{element::f32, {1, 4}, packed_strides(element::f32, {1, 4})},
                HostMemory::borrow(memory.data(), 16, false, [&] { ++released; }));
    request.set_tensor("x", lent);
  }
  EXPECT_EQ(released, 0);
  request.infer();
  request.set_tensor("x", floats({1, 4}, {0, 0, 0, 0}));
  EXPECT_EQ(released, 1);
}

TEST_F(Request, SetTensorsMergesABatch) {
  auto batched = core.compile_model(relu_model(PartialShape{3, 2}), "REFERENCE");
  auto r = batched.create_infer_request();
  r.set_input_tensors({floats({1, 2}, {1, -1}), floats({1, 2}, {2, -2}), floats({1, 2}, {3, -3})});
  r.infer();
  EXPECT_THAT(values_of(r.get_output_tensor()), ElementsAre(1, 0, 2, 0, 3, 0));
  EXPECT_EQ(r.ledger().total().copied, 24u);
  EXPECT_THAT(message_of([&] { r.get_input_tensor(); }),
              HasSubstr("get_tensor shall not be used together with batched set_tensors"));
  EXPECT_THAT(message_of([&] { r.set_input_tensors({}); }), HasSubstr("can't be called with empty tensors"));
  EXPECT_THAT(message_of([&] {
                r.set_tensors("y", {floats({1, 2}, {1, 1})});
              }),
              HasSubstr("Input port for tensor name y was not found."));
  EXPECT_THROW(r.set_input_tensors({floats({1, 2}, {1, 1}), floats({1, 2}, {1, 1})}), Error);
  Tensor single = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  r.set_input_tensor(single);
  EXPECT_EQ(r.get_input_tensor().data(), single.data());
}

TEST_F(Request, DynamicShapesFollowTheInput) {
  auto dynamic = core.compile_model(relu_model(PartialShape{Dimension::dynamic(), 2}), "REFERENCE");
  auto r = dynamic.create_infer_request();
  EXPECT_EQ(r.get_output_tensor().shape(), (Shape{0, 2}));
  EXPECT_THAT(message_of([&] { r.infer(); }), HasSubstr("dynamic shape"));
  for (const std::size_t rows : {1u, 5u, 2u}) {
    r.set_input_tensor(floats({rows, 2}, std::vector<float>(rows * 2, 3)));
    r.infer();
    EXPECT_EQ(r.get_output_tensor().shape(), (Shape{rows, 2}));
    EXPECT_THAT(values_of(r.get_output_tensor()), Each(3));
  }
  EXPECT_THROW(r.set_input_tensor(Tensor(element::f32, {1, 3})), Error);
}

TEST_F(Request, DynamicOutputGoesIntoTheUsersTensorOrIsRefused) {
  auto dynamic = core.compile_model(relu_model(PartialShape{Dimension::dynamic(), 2}), "REFERENCE");
  auto r = dynamic.create_infer_request();
  std::vector<float> memory(8, -1);
  r.set_output_tensor(Tensor(element::f32, {4, 2}, memory.data()));
  r.set_input_tensor(floats({3, 2}, {1, 2, 3, 4, 5, 6}));
  r.infer();
  EXPECT_THAT(memory, ElementsAre(1, 2, 3, 4, 5, 6, -1, -1));
  EXPECT_EQ(r.get_output_tensor().shape(), (Shape{3, 2}));
  r.set_input_tensor(floats({5, 2}, std::vector<float>(10, 9)));
  EXPECT_THAT(message_of([&] { r.infer(); }), HasSubstr("too small"));
  EXPECT_THAT(memory, ElementsAre(1, 2, 3, 4, 5, 6, -1, -1)) << "nothing may be written next to the user's tensor";
}

TEST_F(Request, ProfilingSaysWhatIsMissingOrWhatRan) {
  EXPECT_THAT(message_of([&] { request.get_profiling_info(); }), HasSubstr("PERF_COUNT"));
  auto profiled = core.compile_model(relu_model(), "REFERENCE", enable_profiling(true));
  auto r = profiled.create_infer_request();
  r.infer();
  bool found = false;
  for (const ProfilingInfo& info : r.get_profiling_info())
    found |= info.node_type == "Relu" && info.status == ProfilingInfo::Status::EXECUTED;
  EXPECT_TRUE(found);
}

TEST_F(Request, OutlivesModelAndCore) {
  InferRequest survivor;
  Tensor result;
  {
    Core temporary;
    survivor = temporary.compile_model(relu_model(), "REFERENCE").create_infer_request();
  }
  survivor.set_input_tensor(floats({1, 4}, {1, 2, 3, 4}));
  survivor.start_async();
  survivor.wait();
  result = survivor.get_output_tensor();
  survivor = {};
  EXPECT_THAT(values_of(result), ElementsAre(1, 2, 3, 4));
}

TEST(Lifetime, NothingOfTheDeviceRemains) {
  const int models = live_models, requests = live_requests;
  {
    Core core;
    auto compiled = core.compile_model(relu_model(), "REFERENCE");
    std::vector<InferRequest> some;
    for (int i = 0; i < 5; ++i) some.push_back(compiled.create_infer_request());
    for (auto& r : some) r.start_async();
    EXPECT_EQ(live_models, models + 1);
    EXPECT_EQ(live_requests, requests + 5);
  }
  // Workers may hold the last reference for a moment after the handles are gone.
  for (int i = 0; i < 12000 && (live_models != models || live_requests != requests); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(live_models, models);
  EXPECT_EQ(live_requests, requests);
}

TEST(Remote, EmptyHandlesSaySo) {
  RemoteContext context;
  EXPECT_FALSE(context);
  EXPECT_THAT(message_of([&] { context.get_params(); }), HasSubstr("RemoteContext was not initialized."));
  RemoteTensor tensor;
  EXPECT_THAT(message_of([&] { tensor.get_params(); }), HasSubstr("Tensor was not initialized."));
  EXPECT_THAT(message_of([&] { RemoteTensor(Tensor(element::f32, {1})); }), HasSubstr("Tensor is not remote."));
  EXPECT_THAT(message_of([&] { RemoteTensor(tensor, {0}, {1}); }),
              HasSubstr("Cannot create RoiRemoteTensor on top of empty tensor"));
}

}  // namespace runtime_test
}  // namespace tenon::testing
