// SPDX-License-Identifier: Apache-2.0
// The rules of a request that hold on every device: ports, batches, what is refused and with which message, Busy.
#include <gmock/gmock.h>

#include <functional>
#include <future>
#include <sstream>

#include <tenon/core/ledger.hpp>
#include <tenon/tests/device_conformance/suite.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::testing {
namespace request_rules_test {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RequestRules : public OnDevice {};
TENON_ON_EVERY_DEVICE(RequestRules);

TEST_P(RequestRules, EveryFormOfAPortIsTheSamePort) {
  const auto model = add_model();
  auto compiled = core.compile_model(model, name);
  auto request = compiled.create_infer_request();
  const auto parameter = model->get_parameters()[1];
  const auto result = model->get_results()[0];
  const std::vector<std::function<void(const Tensor&)>> setters = {
      [&](const Tensor& t) { request.set_tensor("b", t); },
      [&](const Tensor& t) { request.set_input_tensor(1, t); },
      [&](const Tensor& t) { request.set_tensor(compiled.input("b"), t); },
      [&](const Tensor& t) { request.set_tensor(compiled.input(1), t); },
      [&](const Tensor& t) { request.set_tensor(model->input("b"), t); },
      [&](const Tensor& t) { request.set_tensor(parameter, t); },
      [&](const Tensor& t) { request.set_tensor(parameter->output(0), t); },
  };
  request.set_tensor("a", floats({2, 3}, std::vector<float>(6, 0)));
  for (std::size_t i = 0; i < setters.size(); ++i) {
    const Tensor t = floats({2, 3}, std::vector<float>(6, static_cast<float>(i + 1)));
    setters[i](t);
    EXPECT_EQ(request.get_input_tensor(1).data(), t.data()) << "form " << i;
    request.infer();
    EXPECT_THAT(values_of(request.get_tensor("sum")), Each(static_cast<float>(i + 1))) << "form " << i;
  }
  const void* data = request.get_output_tensor().data();
  EXPECT_EQ(request.get_tensor("sum").data(), data);
  EXPECT_EQ(request.get_tensor("sum_result").data(), data) << "friendly names serve where no tensor is called so";
  EXPECT_EQ(request.get_tensor(result).data(), data);
  EXPECT_EQ(request.get_tensor(model->output(0)).data(), data);
  EXPECT_EQ(request.get_tensor(compiled.output("sum")).data(), data);
  EXPECT_EQ(request.get_output_tensor(0).data(), data);
  // A copy of the model has the same ports.
  EXPECT_EQ(request.get_tensor(model->clone()->output(0)).data(), data);
}

TEST_P(RequestRules, RefusalsUseTheKnownWords) {
  auto request = core.compile_model(relu_model(), name).create_infer_request();
  const Tensor good(element::f32, {1, 4});
  const auto stranger = add_model({1, 4});
  const struct {
    const char* words;
    std::function<void()> call;
  } cases[] = {
      {"Port for tensor name nope was not found.", [&] { request.set_tensor("nope", good); }},
      {"Port for tensor name nope was not found.", [&] { request.get_tensor("nope"); }},
      {"was not found", [&] { request.set_tensor(stranger->input("a"), good); }},
      {"Input port for index 5 was not found! The model has only 1 inputs.",
       [&] { request.set_input_tensor(5, good); }},
      {"Input port for index 5 was not found! The model has only 1 inputs.", [&] { request.get_input_tensor(5); }},
      {"Output port for index 5 was not found! The model has only 1 outputs.",
       [&] { request.set_output_tensor(5, good); }},
      {"The tensor is not initialized!", [&] { request.set_input_tensor(Tensor()); }},
      {"The tensor is not initialized!", [&] { request.set_output_tensor(Tensor()); }},
      {"Failed to set tensor. ",
       [&] {
         request.set_input_tensor(Tensor(element::i32, {1, 4}));
       }},
      {"The tensor element type is not corresponding with output element type (",
       [&] {
         request.set_output_tensor(Tensor(element::i32, {1, 4}));
       }},
      {"The input tensor size is not equal to the model input type: got [1,5] expecting [1,4]",
       [&] {
         request.set_input_tensor(Tensor(element::f32, {1, 5}));
       }},
      {"set_tensors error. Input port for tensor name y was not found.", [&] { request.set_tensors("y", {good}); }},
      {"set_input_tensors/set_tensors can't be called with empty tensors", [&] { request.set_input_tensors({}); }},
      {"InferRequest was not initialized.", [] { InferRequest().infer(); }},
      {"CompiledModel was not initialized.", [] { CompiledModel().create_infer_request(); }},
      {"Remote context is null", [&] { core.compile_model(relu_model(), RemoteContext()); }},
      {"Remote context is null",
       [&] {
         std::stringstream blob;
         core.import_model(blob, RemoteContext());
       }},
      {"RemoteContext was not initialized.", [] { RemoteContext().get_params(); }},
      {"RemoteContext was not initialized.", [] { RemoteContext().get_device_name(); }},
      {"RemoteContext was not initialized.", [] { RemoteContext().create_tensor(element::f32, {1}); }},
      {"RemoteContext was not initialized.", [] { RemoteContext().create_host_tensor(element::f32, {1}); }},
      {"Tensor was not initialized.", [] { RemoteTensor().get_params(); }},
      {"Tensor was not initialized.", [] { RemoteTensor().get_device_name(); }},
      {"Tensor was not initialized.",
       [] {
         Tensor to;
         RemoteTensor().copy_to(to);
       }},
      {"Cannot create RoiRemoteTensor on top of empty tensor", [] { RemoteTensor(RemoteTensor(), {0}, {1}); }},
      {"Tensor is not remote.", [&] { RemoteTensor remote(good); }},
      {"Device with \"XYZ\" name is not registered in the", [&] { core.compile_model(relu_model(), "XYZ"); }},
      {"read-only",
       [&] {
         core.set_property(name, {{"FULL_DEVICE_NAME", "mine"}});
       }},
      {"exactly one input", [&] { core.compile_model(add_model(), name).create_infer_request().get_input_tensor(); }},
  };
  for (const auto& [words, call] : cases) EXPECT_THAT(error_of(call).what(), HasSubstr(words));
  EXPECT_FALSE(RemoteContext());
  EXPECT_NO_THROW(request.infer()) << "nothing that was refused has left a trace";
}

TEST_P(RequestRules, ContextsAreThereOrRefusedByName) {
  auto compiled = core.compile_model(relu_model(), name);
  if (name != "CPU") GTEST_SKIP() << "whether " << name << " has contexts is its own business";
  const std::string words = "is not supported by CPU plugin!";
  EXPECT_THAT(error_of([&] { core.get_default_context(name); }).what(), HasSubstr(words));
  EXPECT_THAT(error_of([&] { core.create_context(name, AnyMap{}); }).what(), HasSubstr(words));
  EXPECT_THAT(error_of([&] { compiled.get_context(); }).what(), HasSubstr(words));
}

TEST_P(RequestRules, BatchesOfTensors) {
  auto request = core.compile_model(relu_model(PartialShape{3, 2}), name).create_infer_request();
  const auto item = [](float value) { return floats({1, 2}, {value, -value}); };
  request.set_input_tensors({item(1), item(2), item(3)});
  request.infer();
  EXPECT_THAT(values_of(request.get_output_tensor()), ElementsAre(1, 0, 2, 0, 3, 0));
  if (name.starts_with("GPU"))
    EXPECT_THAT(request.ledger().total().copied, ::testing::AnyOf(0u, 24u)) << "its kernels may take each item";
  else
    EXPECT_EQ(request.ledger().total().copied, 24u);
  const auto words = [&](auto call) { return std::string(error_of(call).what()); };
  EXPECT_THAT(words([&] { request.get_input_tensor(); }),
              HasSubstr("get_tensor shall not be used together with batched set_tensors/set_input_tensors for port"));
  const auto set = [&](std::vector<Tensor> items) { return words([&] { request.set_tensors("x", items); }); };
  EXPECT_THAT(set({item(1), item(2)}), HasSubstr("as many tensors as its batch"));
  EXPECT_THAT(set({item(1), item(2), floats({1, 3}, {1, 2, 3})}), HasSubstr("[1,2]")) << "another shape";
  EXPECT_THAT(set({item(1), item(2), Tensor(element::i32, {1, 2})}), HasSubstr("i32")) << "another type";
  EXPECT_THAT(set({item(1), item(2), Tensor()}), HasSubstr("empty"));
  EXPECT_THAT(set({floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {1, 2, 3, 4}), item(1)}), HasSubstr("batch of 1"));
  const Tensor wide = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(set({item(1), item(2), Tensor(element::f32, {1, 2}, wide.data(), {8, 8})}),
              HasSubstr("Strides for batched tensors should be default."));
  request.infer();
  EXPECT_THAT(values_of(request.get_output_tensor()), ElementsAre(1, 0, 2, 0, 3, 0)) << "refusals change nothing";
  // A single tensor is set_tensor, which ends the batch.
  const Tensor whole = floats({3, 2}, {6, 5, 4, 3, 2, 1});
  request.set_input_tensors({whole});
  EXPECT_EQ(request.get_input_tensor().data(), whole.data());
}

TEST_P(RequestRules, ABatchThatLiesTogetherIsUsedInPlace) {
  auto request =
      core.compile_model(relu_model(PartialShape{2, 16}), name, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  const Tensor whole = host_tensor({2, 16}, std::vector<float>(32, 1.f));
  request.set_input_tensors({whole.slice({0, 0}, {1, 16}), whole.slice({1, 0}, {2, 16})});
  whole.data<float>()[31] = 9;
  request.infer();
  EXPECT_EQ(values_of(request.get_output_tensor())[31], 9);
  EXPECT_EQ(request.ledger().total().copied, 0u);
  const std::vector<Tensor> apart{floats({1, 16}, std::vector<float>(16, 4.f)), whole.slice({1, 0}, {2, 16})};
  if (!name.starts_with("GPU")) {
    EXPECT_THAT(error_of([&] { request.set_input_tensors(apart); }).what(), HasSubstr("require"));
    return;
  }
  try {  // Its kernels may take each item.
    request.set_input_tensors(apart);
    request.infer();
    EXPECT_EQ(values_of(request.get_output_tensor())[0], 4);
    EXPECT_EQ(request.ledger().total().copied, 0u);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("require"));
  }
}

TEST_P(RequestRules, ABatchNeedsItsAxisFirst) {
  const auto model = relu_model(PartialShape{3, 2});
  model->get_parameters()[0]->get_rt_info()["layout"] = Any(std::string("[C,N]"));
  auto request = core.compile_model(model, name).create_infer_request();
  const std::vector<Tensor> items(3, floats({1, 2}, {1, 2}));
  EXPECT_THAT(error_of([&] { request.set_input_tensors(items); }).what(), HasSubstr("N(batch)"));
}

TEST_P(RequestRules, ADynamicBatchIsAsLongAsWhatIsSet) {
  auto request = core.compile_model(relu_model(PartialShape{Dimension(1, 4), 2}), name).create_infer_request();
  const auto item = [](float value) { return floats({1, 2}, {value, -value}); };
  request.set_input_tensors({item(1), item(2), item(3)});
  request.infer();
  EXPECT_EQ(request.get_output_tensor().shape(), (Shape{3, 2}));
  request.set_input_tensors({item(1), item(2)});
  request.infer();
  EXPECT_THAT(values_of(request.get_output_tensor()), ElementsAre(1, 0, 2, 0));
  EXPECT_THROW(request.set_input_tensors({item(1), item(1), item(1), item(1), item(1)}), Error);
}

/// Long enough to be observed running; the callback holds it there, whatever the device's speed.
TEST_P(RequestRules, WhatIsBusySaysSo) {
  auto model = relu_model(PartialShape{64, 65536});
  AnyMap properties;
  if (name == "REFERENCE") properties.insert(delay_us(100000));
  auto compiled = core.compile_model(model, name, properties);
  auto request = compiled.create_infer_request();
  EXPECT_NO_THROW(request.wait());
  const Tensor x(element::f32, {64, 65536});
  std::fill_n(x.data<float>(), x.element_count(), 1.f);
  request.set_input_tensor(x);
  int busy = 0;
  for (int attempt = 0; attempt < 20 && busy == 0; ++attempt) {
    request.start_async();
    try {
      request.infer();  // May be too late to find it running.
    } catch (const Busy& error) {
      ++busy;
      EXPECT_THAT(error.what(), HasSubstr("Infer Request is busy"));
      for (const auto& call : std::vector<std::function<void()>>{
               [&] { request.set_input_tensor(x); }, [&] { request.get_input_tensor(); },
               [&] { request.get_output_tensor(); }, [&] { request.start_async(); }, [&] { request.query_state(); },
               [&] { request.get_profiling_info(); }, [&] { request.set_callback([](std::exception_ptr) {}); }}) {
        try {
          call();  // The inference may end in between; an error while it runs must be Busy.
        } catch (const Busy&) {
        } catch (const Error& other) {
          EXPECT_EQ(other.code(), Code::kFailedPrecondition) << other.what();
        }
      }
    }
    request.wait();
  }
  EXPECT_GT(busy, 0);
  EXPECT_NO_THROW(request.infer());
}

TEST_P(RequestRules, AThrowingCallbackSurfacesInWait) {
  auto request = core.compile_model(relu_model(), name).create_infer_request();
  request.set_callback([](std::exception_ptr) { throw std::runtime_error("from the callback"); });
  EXPECT_NO_THROW(request.infer()) << "infer() calls no callback";
  request.start_async();
  try {
    request.wait();
    ADD_FAILURE() << "wait() kept the exception to itself";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("from the callback"));
  }
  request.set_callback({});
  request.start_async();
  EXPECT_TRUE(request.wait_for(std::chrono::seconds(10)));
}

TEST_P(RequestRules, TensorsStayWhereTheyAre) {
  auto request = core.compile_model(relu_model(), name).create_infer_request();
  const void* own = request.get_input_tensor().data();
  EXPECT_EQ(request.get_input_tensor().data(), own) << "no second allocation";
  const Tensor mine = floats({1, 4}, {1, 2, 3, 4});
  request.set_input_tensor(mine);
  EXPECT_EQ(request.get_input_tensor().data(), mine.data());
  // A tensor of one request may be set on another.
  auto other = core.compile_model(relu_model(), name).create_infer_request();
  other.set_input_tensor(request.get_input_tensor());
  other.infer();
  EXPECT_THAT(values_of(other.get_output_tensor()), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(other.get_compiled_model().inputs().size(), 1u);
}

}  // namespace request_rules_test
}  // namespace tenon::testing
